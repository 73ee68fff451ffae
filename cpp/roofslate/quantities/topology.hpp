// How the chips of a scale-up domain are wired, and the time that exchanges and sums take there for it.
#pragma once
#include "roofslate/quantities/hardware.hpp"

namespace roofslate::quantities
{
    struct torus_dimensions;
    struct torus_length;
    struct dragonfly_group;
    struct scale_up_topology
    {
        static constexpr Spec spec =
            Spec(
                "\\theta_u",
                "1",
                "topology of the links inside a scale-up domain (crossbar, torus, dragonfly)",
                "R2.6")
                .one_of("crossbar", "torus", "dragonfly")
                .by_default(0)
                .implied_by_any<torus_dimensions, torus_length>(1)
                .implied_by_any<dragonfly_group>(2);
    };
    struct scale_out_topology
    {
        static constexpr Spec spec =
            Spec(
                "\\theta_o",
                "1",
                "topology of the links between scale-up domains (fat_tree, rail)",
                "arXiv:2307.12169")
                .one_of("fat_tree", "rail")
                .by_default(0);
    };
    struct domain_chips
    {
        static constexpr Spec spec = Spec("G_s", "chip", "chips of a replica in one scale-up domain", "R2.6");
        template <class T> static constexpr T formula(in<chips, T> G, in<scale_up_domain, T> G_u)
        { return min(G, G_u); }
    };

    // --- a torus: each chip has two links along each axis ---

    struct torus_dimensions
    {
        static constexpr Spec spec =
            Spec("d_T", "1", "axes of the torus, among which the link bandwidth is divided", "R2.6")
                .range(1, 3)
                .by_default(3);
    };
    struct torus_wiring
    {
        static constexpr Spec spec =
            Spec(
                "\\theta_T",
                "1",
                "wiring of a torus (rings, twisted rings with equal load, open mesh)",
                "arXiv:2304.01433")
                .one_of("rings", "twisted", "mesh")
                .by_default(0);
    };
    struct torus_length
    {
        static constexpr Spec spec = Spec("n_1", "chip", "chips along the first axis of a torus", "R2.6").range(1);
        template <class T> static constexpr T formula(in<domain_chips, T> G, in<torus_dimensions, T> d)
        { return G * pow(count(G), 1.0 / d - 1.0); }
    };
    struct torus_width
    {
        static constexpr Spec spec = Spec("n_2", "chip", "chips along the second axis of a torus", "R2.6").range(1);
        template <class T>
        static constexpr T formula(in<domain_chips, T> G, in<torus_dimensions, T> d, in<torus_length, T> x)
        {
            const T each = G / count(G); // one chip
            const T further = max(count(G) / count(x), 1.0);
            return each * select(d > T(2.0), sqrt(further), select(d > T(1.0), further, T(1.0)));
        }
    };
    struct torus_height
    {
        static constexpr Spec spec = Spec("n_3", "chip", "chips along the third axis of a torus", "R2.6").range(1);
        template <class T> static constexpr T formula(
            in<domain_chips, T> G,
            in<torus_dimensions, T> d,
            in<torus_length, T> x,
            in<torus_width, T> y)
        {
            const T each = G / count(G);
            return each * select(d > T(2.0), max(count(G) / (count(x) * count(y)), 1.0), T(1.0));
        }
    };
    // 1 for an odd number of chips. Sides that come of a root are hardly whole, and then even.
    template <class T> constexpr T odd(const T& n)
    {
        const T nearest = floor(n + 0.5);
        const T off = max(n - nearest, nearest - n);
        return select(off <= 1e-9 * n, nearest - 2.0 * floor(nearest / 2.0), T(0.0));
    }
    // Mean distance along an axis to one of its n chips, and the load of its busiest link as such a distance. Part of a
    // side is a line: it has no link from its end to its start, and all that crosses passes through its middle.
    template <class T> struct Axis
    {
        T distance, busiest;
    };
    template <class T> constexpr Axis<T> along_axis(const T& n, const T& side, in<torus_wiring, T> wiring)
    {
        const T uneven = odd<T>(n), square = n * n, ring = (square - uneven) / (4.0 * n);
        const auto open = n < side * (1.0 - 1e-9) || is<torus_wiring>(wiring, "mesh");
        return {select(open, (square - 1.0) / (3.0 * n), ring), select(open, (square - uneven) / (2.0 * n), ring)};
    }
    // Of a block of n chips that fills the first axis before the second, and that before the third.
    template <class T> constexpr Axis<T> torus_exchange(
        const T& n,
        in<torus_length, T> length,
        in<torus_width, T> width,
        in<torus_height, T> height,
        in<torus_wiring, T> wiring)
    {
        const T x = count(length), y = count(width), z = count(height);
        const Axis<T> first = along_axis<T>(min(n, x), x, wiring),
                      second = along_axis<T>(min(max(n / x, 1.0), y), y, wiring),
                      third = along_axis<T>(min(max(n / (x * y), 1.0), z), z, wiring);
        return {
            first.distance + second.distance + third.distance,
            max(first.busiest, max(second.busiest, third.busiest))};
    }
    // Links of a chip that a block of n chips has for a sum along an axis of which it takes a part, or the ring.
    template <class T>
    constexpr T axis_links(const T& n, const T& before, const T& side, in<torus_wiring, T> wiring)
    {
        const T ring = select(is<torus_wiring>(wiring, "mesh"), T(1.0), T(2.0));
        return select(
            side > T(1.0) && n > before * (1.0 + 1e-9),
            select(n < before * side * (1.0 - 1e-9), T(1.0), ring),
            T(0.0));
    }
    template <class T> constexpr T torus_links(
        const T& n,
        in<torus_length, T> length,
        in<torus_width, T> width,
        in<torus_height, T> height,
        in<torus_wiring, T> wiring)
    {
        const T x = count(length), y = count(width), z = count(height);
        return axis_links<T>(n, T(1.0), x, wiring) + axis_links<T>(n, x, y, wiring)
            + axis_links<T>(n, x * y, z, wiring);
    }

    // --- a dragonfly: boards of chips, groups of boards, and groups, each level fully connected ---

    struct dragonfly_group
    {
        static constexpr Spec spec =
            Spec("A", "chip", "chips of a group of a dragonfly", "Kim et al., ISCA 2008")
                .range(1)
                .at_most<scale_up_domain>()
                .otherwise<scale_up_domain>();
    };
    struct dragonfly_board
    {
        static constexpr Spec spec =
            Spec("a", "chip", "chips of a fully connected board in a group of a dragonfly", "Kim et al., ISCA 2008")
                .range(1)
                .at_most<dragonfly_group>()
                .by_default(1);
    };
    struct group_links
    {
        static constexpr Spec spec =
            Spec("l_A", "1/chip", "links per chip to other boards of its group", "Kim et al., ISCA 2008").range(0);
        template <class T> static constexpr T formula(in<dragonfly_group, T> A, in<dragonfly_board, T> a)
        { return (A / a - 1.0) / a; }
    };
    struct global_links
    {
        static constexpr Spec spec =
            Spec("l_o", "1/chip", "links per chip to other groups", "Kim et al., ISCA 2008").range(0);
        template <class T> static constexpr T formula(in<scale_up_domain, T> G_u, in<dragonfly_group, T> A)
        { return (G_u / A - 1.0) / A; }
    };
    // Links of a byte to a chip among n, in the mean, by level. It takes the shortest way with at most one link between
    // groups, and moves inside a board before, between and after links of the levels above.
    template <class T> struct Levels
    {
        T board, group, global;
        constexpr T sum() const { return board + (group + global); }
    };
    template <class T> constexpr Levels<T> dragonfly_exchange(
        const T& n,
        in<scale_up_domain, T> G_u,
        in<dragonfly_group, T> group,
        in<dragonfly_board, T> board,
        in<global_links, T> l)
    {
        const T A = count(group), a = count(board), in_group = min(A, n), on_board = min(a, n), boards = A / a;
        const T joined = A * count(l) / (count(G_u) / A - 1.0); // links between two groups
        const T at_end = 1.0 - min(joined / boards, 1.0);       // probability that the link is on another board
        const T elsewhere = 1.0 - in_group / n;
        const T across =
            select(n > A, elsewhere * (1.0 - min(joined / (boards * boards), 1.0) + at_end * at_end), T(0.0));
        const T between = in_group / n * (1.0 - on_board / in_group) + across;
        return {(1.0 - 1.0 / on_board) * (1.0 + (between + elsewhere)), between, elsewhere};
    }
    // Links of a chip, and those that a block of n chips uses on a level of `parts` parts that it has `used` of.
    template <class T>
    constexpr T dragonfly_links(in<dragonfly_board, T> board, in<group_links, T> l_A, in<global_links, T> l_o)
    { return count(board) - 1.0 + (count(l_A) + count(l_o)); }
    template <class T> constexpr T part_of_links(const T& links, const T& used, const T& parts)
    { return links * ((used - 1.0) / (parts - 1.0)); }

    // --- exchanges: all to all ---

    struct mean_hops
    {
        static constexpr Spec spec = Spec(
            "\\bar h",
            "1",
            "mean links per byte of an exchange, one through a switch",
            "Dally and Towles, Interconnection Networks, 2004");
        template <class T> static constexpr T formula(
            in<scale_up_topology, T> which,
            in<expert_parallel, T> G_e,
            in<scale_up_domain, T> G_u,
            in<torus_length, T> x,
            in<torus_width, T> y,
            in<torus_height, T> z,
            in<torus_wiring, T> wiring,
            in<dragonfly_group, T> A,
            in<dragonfly_board, T> a,
            in<global_links, T> l_o)
        {
            const T n = count(min(G_e, G_u));
            return choose(
                which,
                T(1.0),
                torus_exchange<T>(n, x, y, z, wiring).distance,
                dragonfly_exchange<T>(n, G_u, A, a, l_o).sum());
        }
    };
    struct link_imbalance
    {
        static constexpr Spec spec =
            Spec(
                "\\mu_u",
                "1",
                "load of the busiest links in an exchange relative to the mean",
                "Dally and Towles, Interconnection Networks, 2004")
                .range(1);
        template <class T> static constexpr T formula(
            in<scale_up_topology, T> which,
            in<expert_parallel, T> G_e,
            in<scale_up_domain, T> G_u,
            in<torus_dimensions, T> d,
            in<torus_length, T> x,
            in<torus_width, T> y,
            in<torus_height, T> z,
            in<torus_wiring, T> wiring,
            in<dragonfly_group, T> A,
            in<dragonfly_board, T> a,
            in<group_links, T> l_A,
            in<global_links, T> l_o)
        {
            const T n = count(min(G_e, G_u));
            const Axis<T> axes = torus_exchange<T>(n, x, y, z, wiring);
            const T straight = d * axes.busiest / axes.distance;
            const T torus = select(is<torus_wiring>(wiring, "twisted"), T(1.0), straight);
            const Levels<T> levels = dragonfly_exchange<T>(n, G_u, A, a, l_o);
            const T group = count(A), board = count(a), in_group = min(group, n), on_board = min(board, n);
            const T inside = select(on_board > T(1.0), levels.board / (on_board - 1.0), T(0.0));
            const T boards = select(
                in_group > on_board,
                levels.group / part_of_links<T>(count(l_A), in_group / on_board, group / board),
                T(0.0));
            const T groups =
                select(n > group, levels.global / part_of_links<T>(count(l_o), n / group, count(G_u) / group), T(0.0));
            const T dragonfly = max(inside, max(boards, groups)) * dragonfly_links<T>(a, l_A, l_o) / levels.sum();
            return choose(which, T(1.0), select(n > T(1.0), torus, T(1.0)), select(n > T(1.0), dragonfly, T(1.0)));
        }
    };

    // --- sums: all-reduce ---

    // Share of a chip's links that an all-reduce keeps busy among n chips that are `apart` chips from one another.
    template <class T> constexpr T torus_sum_share(
        const T& n,
        const T& apart,
        in<torus_dimensions, T> d,
        in<torus_length, T> x,
        in<torus_width, T> y,
        in<torus_height, T> z,
        in<torus_wiring, T> wiring)
    {
        const T links = torus_links<T>(n * apart, x, y, z, wiring) - torus_links<T>(apart, x, y, z, wiring);
        return max(links, 1.0) / (2.0 * d);
    }
    // The levels add up one inside the other, as domains do; on each, all chips send to all.
    template <class T> constexpr T dragonfly_sum_share(
        const T& all,
        const T& apart,
        in<scale_up_domain, T> G_u,
        in<dragonfly_group, T> group,
        in<dragonfly_board, T> board,
        in<group_links, T> l_A,
        in<global_links, T> l_o)
    {
        const T n = min(all, max(count(G_u) / apart, 1.0));
        const T A = max(count(group) / apart, 1.0), a = max(count(board) / apart, 1.0);
        const T on_board = min(n, a), boards = min(max(n / a, 1.0), A / a), groups = max(n / A, 1.0);
        const T inside = select(on_board > T(1.0), 1.0 / on_board, T(0.0));
        const T between =
            select(boards > T(1.0), (count(group) / count(board) - 1.0) / (on_board * (boards * count(l_A))), T(0.0));
        const T across = select(
            groups > T(1.0),
            (count(G_u) / count(group) - 1.0) / (on_board * boards * (groups * count(l_o))),
            T(0.0));
        const T share = (1.0 - 1.0 / n) / (max(inside, max(between, across)) * dragonfly_links<T>(board, l_A, l_o));
        return select(n > T(1.0), share, T(1.0));
    }
    // Link bandwidth of a chip in an all-reduce among n chips that are `apart` chips from one another.
    template <class T> constexpr T sum_bandwidth(
        in<scale_up_topology, T> which,
        in<scale_up_bandwidth, T> u,
        const T& n,
        const T& apart,
        in<scale_up_domain, T> G_u,
        in<torus_dimensions, T> d,
        in<torus_length, T> x,
        in<torus_width, T> y,
        in<torus_height, T> z,
        in<torus_wiring, T> wiring,
        in<dragonfly_group, T> A,
        in<dragonfly_board, T> a,
        in<group_links, T> l_A,
        in<global_links, T> l_o)
    {
        return choose(
            which,
            u,
            u * torus_sum_share<T>(n, apart, d, x, y, z, wiring),
            u * dragonfly_sum_share<T>(n, apart, G_u, A, a, l_A, l_o));
    }
    struct tensor_link_bandwidth
    {
        static constexpr Spec spec = Spec(
            "u_t",
            "byte/s/chip",
            "link bandwidth of an all-reduce among tensor parallel chips",
            "JAX scaling book, chapter on sharding");
        template <class T> static constexpr T formula(
            in<scale_up_topology, T> which,
            in<scale_up_bandwidth, T> u,
            in<tensor_parallel, T> G_t,
            in<scale_up_domain, T> G_u,
            in<torus_dimensions, T> d,
            in<torus_length, T> x,
            in<torus_width, T> y,
            in<torus_height, T> z,
            in<torus_wiring, T> wiring,
            in<dragonfly_group, T> A,
            in<dragonfly_board, T> a,
            in<group_links, T> l_A,
            in<global_links, T> l_o)
        { return sum_bandwidth<T>(which, u, count(G_t), T(1.0), G_u, d, x, y, z, wiring, A, a, l_A, l_o); }
    };
    struct stage_link_bandwidth
    {
        static constexpr Spec spec = Spec(
            "u_P",
            "byte/s/chip",
            "link bandwidth of an all-reduce among all chips of a stage",
            "JAX scaling book, chapter on sharding");
        template <class T> static constexpr T formula(
            in<scale_up_topology, T> which,
            in<scale_up_bandwidth, T> u,
            in<chips_per_stage, T> G_P,
            in<scale_up_domain, T> G_u,
            in<torus_dimensions, T> d,
            in<torus_length, T> x,
            in<torus_width, T> y,
            in<torus_height, T> z,
            in<torus_wiring, T> wiring,
            in<dragonfly_group, T> A,
            in<dragonfly_board, T> a,
            in<group_links, T> l_A,
            in<global_links, T> l_o)
        { return sum_bandwidth<T>(which, u, count(G_P), T(1.0), G_u, d, x, y, z, wiring, A, a, l_A, l_o); }
    };

    // --- hops from stage to stage ---

    struct stage_link_share
    {
        static constexpr Spec spec = Spec(
            "\\phi_1",
            "1",
            "share of a chip's links on the way to the next stage",
            "Dally and Towles, Interconnection Networks, 2004");
        // Stages fill a torus one after the other: a byte crosses its stage's thickness along the axis that they stack
        // on. In a dragonfly each chip has a link of its own to its peer where it has one at all.
        template <class T> static constexpr T formula(
            in<scale_up_topology, T> which,
            in<chips_per_stage, T> G_P,
            in<scale_up_domain, T> G_u,
            in<torus_dimensions, T> d,
            in<torus_length, T> x,
            in<torus_width, T> y,
            in<dragonfly_group, T> A,
            in<dragonfly_board, T> a,
            in<group_links, T> l_A,
            in<global_links, T> l_o)
        {
            const T n = count(G_P), line = count(x), plane = line * count(y);
            const T below = select(n < line, T(1.0), select(n < plane, line, plane));
            const T boards = count(l_A) / (A / a - 1.0), groups = count(l_o) / (G_u / A - 1.0);
            const T peer = select(n < count(a), T(1.0), select(n < count(A), boards, groups));
            return choose(which, T(1.0), below / (n * (2.0 * d)), peer / dragonfly_links<T>(a, l_A, l_o));
        }
    };

    using topology = list<
        scale_up_topology,
        scale_out_topology,
        domain_chips,
        torus_dimensions,
        torus_wiring,
        torus_length,
        torus_width,
        torus_height,
        dragonfly_group,
        dragonfly_board,
        group_links,
        global_links,
        mean_hops,
        link_imbalance,
        tensor_link_bandwidth,
        stage_link_bandwidth,
        stage_link_share>;
}
