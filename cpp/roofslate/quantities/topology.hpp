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
            Spec("\\theta_u", "1", "scale-up domain topology (crossbar, torus, dragonfly)", "R2.6")
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
                "scale-out network topology between scale-up domains (fat_tree, rail)",
                "arXiv:2307.12169")
                .one_of("fat_tree", "rail")
                .by_default(0);
    };
    struct domain_chips
    {
        static constexpr Spec spec = Spec("G_s", "chip", "replica chips in one scale-up domain", "R2.6");
        template <class T> static constexpr T formula(in<chips, T> G, in<scale_up_domain, T> G_u)
        { return min(G, G_u); }
    };

    // --- a torus: each chip has two links along each axis ---

    struct torus_dimensions
    {
        static constexpr Spec spec =
            Spec("d_T", "1", "torus dimensions, axes among which link bandwidth is divided", "R2.6")
                .range(1, 3)
                .by_default(3);
    };
    struct torus_wiring
    {
        static constexpr Spec spec =
            Spec("\\theta_T", "1", "torus wiring (rings, twisted rings with even load, open mesh)", "arXiv:2304.01433")
                .one_of("rings", "twisted", "mesh")
                .by_default(0);
    };
    struct torus_length
    {
        static constexpr Spec spec = Spec("n_1", "1", "chips along the first torus axis", "R2.6").range(1);
        template <class T> static constexpr T formula(in<domain_chips, T> G, in<torus_dimensions, T> d)
        { return pow(count(G), 1.0 / d); }
    };
    struct torus_width
    {
        static constexpr Spec spec = Spec("n_2", "1", "chips along the second torus axis", "R2.6").range(1);
        template <class T>
        static constexpr T formula(in<domain_chips, T> G, in<torus_dimensions, T> d, in<torus_length, T> x)
        {
            const T further = max(count(G) / x, 1.0);
            return select(d > T(2.0), sqrt(further), select(d > T(1.0), further, T(1.0)));
        }
    };
    struct torus_height
    {
        static constexpr Spec spec = Spec("n_3", "1", "chips along the third torus axis", "R2.6").range(1);
        template <class T> static constexpr T formula(
            in<domain_chips, T> G,
            in<torus_dimensions, T> d,
            in<torus_length, T> x,
            in<torus_width, T> y)
        { return select(d > T(2.0), max(count(G) / (x * y), 1.0), T(1.0)); }
    };
    struct exchange_chips
    {
        static constexpr Spec spec =
            Spec("G_x", "chip", "all-to-all chips within one scale-up domain", "R2.3").range(1);
        template <class T> static constexpr T formula(in<expert_parallel, T> G_e, in<scale_up_domain, T> G_u)
        { return min(G_e, G_u); }
    };
    // A block of chips fills the first axis before the second, and that before the third.
    struct length_chips
    {
        static constexpr Spec spec = Spec("g_1", "1", "all-to-all chips along the first torus axis", "R2.6").range(1);
        template <class T> static constexpr T formula(in<exchange_chips, T> n, in<torus_length, T> x)
        { return min(count(n), x); }
    };
    struct width_chips
    {
        static constexpr Spec spec = Spec("g_2", "1", "all-to-all chips along the second torus axis", "R2.6").range(1);
        template <class T> static constexpr T formula(
            in<exchange_chips, T> n,
            in<torus_length, T> x,
            in<torus_width, T> y)
        { return min(max(count(n) / x, 1.0), y); }
    };
    struct height_chips
    {
        static constexpr Spec spec = Spec("g_3", "1", "all-to-all chips along the third torus axis", "R2.6").range(1);
        template <class T> static constexpr T formula(
            in<exchange_chips, T> n,
            in<torus_length, T> x,
            in<torus_width, T> y,
            in<torus_height, T> z)
        { return min(max(count(n) / (x * y), 1.0), z); }
    };
    template <class T> constexpr T one_if_odd(const T& n)
    {
        const T above = n - 2.0 * floor(n / 2.0);
        return select(max(above - 1.0, 1.0 - above) <= 1e-9, T(1.0), T(0.0));
    }
    // Mean distance to one of n chips in a row, including the chip itself. A row is a ring, or a line without a link
    // from its end to its start. The middle link of a line carries all crossing bytes: its load has 2 in place of the 4
    // of a ring. Sides from a root are not odd.
    template <class T, class Condition> constexpr T axis_hops(
        const T& n,
        const Condition& part,
        in<torus_wiring, T> wiring,
        double of_line)
    {
        const T odd = one_if_odd<T>(n), line = of_line == 3.0 ? n * n - 1.0 : n * n - odd;
        return select(part || is<torus_wiring>(wiring, "mesh"), line / (of_line * n), (n * n - odd) / (4.0 * n));
    }
    struct length_hops
    {
        static constexpr Spec spec =
            Spec(
                "h_1",
                "1",
                "mean all-to-all hops along the first torus axis",
                "Dally and Towles, Interconnection Networks, 2004")
                .range(0);
        template <class T> static constexpr T formula(
            in<length_chips, T> n,
            in<torus_length, T> side,
            in<torus_wiring, T> wiring)
        { return axis_hops<T>(n, n < side * (1.0 - 1e-9), wiring, 3.0); }
    };
    struct length_load
    {
        static constexpr Spec spec =
            Spec(
                "l_1",
                "1",
                "busiest-link load along the first torus axis, in equivalent hops",
                "Dally and Towles, Interconnection Networks, 2004")
                .range(0);
        template <class T> static constexpr T formula(
            in<length_chips, T> n,
            in<torus_length, T> side,
            in<torus_wiring, T> wiring)
        { return axis_hops<T>(n, n < side * (1.0 - 1e-9), wiring, 2.0); }
    };
    struct width_hops
    {
        static constexpr Spec spec =
            Spec(
                "h_2",
                "1",
                "mean all-to-all hops along the second torus axis",
                "Dally and Towles, Interconnection Networks, 2004")
                .range(0);
        template <class T> static constexpr T formula(
            in<width_chips, T> n,
            in<torus_width, T> side,
            in<torus_wiring, T> wiring)
        { return axis_hops<T>(n, n < side * (1.0 - 1e-9), wiring, 3.0); }
    };
    struct width_load
    {
        static constexpr Spec spec =
            Spec(
                "l_2",
                "1",
                "busiest-link load along the second torus axis, in equivalent hops",
                "Dally and Towles, Interconnection Networks, 2004")
                .range(0);
        template <class T> static constexpr T formula(
            in<width_chips, T> n,
            in<torus_width, T> side,
            in<torus_wiring, T> wiring)
        { return axis_hops<T>(n, n < side * (1.0 - 1e-9), wiring, 2.0); }
    };
    struct height_hops
    {
        static constexpr Spec spec =
            Spec(
                "h_3",
                "1",
                "mean all-to-all hops along the third torus axis",
                "Dally and Towles, Interconnection Networks, 2004")
                .range(0);
        template <class T> static constexpr T formula(
            in<height_chips, T> n,
            in<torus_height, T> side,
            in<torus_wiring, T> wiring)
        { return axis_hops<T>(n, n < side * (1.0 - 1e-9), wiring, 3.0); }
    };
    struct height_load
    {
        static constexpr Spec spec =
            Spec(
                "l_3",
                "1",
                "busiest-link load along the third torus axis, in equivalent hops",
                "Dally and Towles, Interconnection Networks, 2004")
                .range(0);
        template <class T> static constexpr T formula(
            in<height_chips, T> n,
            in<torus_height, T> side,
            in<torus_wiring, T> wiring)
        { return axis_hops<T>(n, n < side * (1.0 - 1e-9), wiring, 2.0); }
    };
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
        in<torus_length, T> x,
        in<torus_width, T> y,
        in<torus_height, T> z,
        in<torus_wiring, T> wiring)
    {
        return axis_links<T>(n, T(1.0), x, wiring) + axis_links<T>(n, x, y, wiring)
            + axis_links<T>(n, x * y, z, wiring);
    }

    // Links in a row to the farthest of n chips along an axis, of which they take a part or the ring.
    template <class T> constexpr T axis_reach(const T& n, const T& side, in<torus_wiring, T> wiring)
    {
        const T extent = min(max(n, 1.0), side);
        const auto is_line = n < side * (1.0 - 1e-9) || is<torus_wiring>(wiring, "mesh");
        return select(is_line, extent - 1.0, (extent - one_if_odd<T>(extent)) / 2.0);
    }
    // Messages in a row of a small sum among n chips: through switches each doubles the chips that are joined. In a
    // torus a part of the sum takes all links to the farthest chip, more than the doublings where sides are five or
    // longer.
    template <class T> constexpr T all_reduce_steps(
        const T& n,
        in<scale_up_topology, T> which,
        in<scale_up_domain, T> G_u,
        in<torus_length, T> x,
        in<torus_width, T> y,
        in<torus_height, T> z,
        in<torus_wiring, T> wiring)
    {
        const T doublings = log(n) / log(T(2.0)), inside = min(n, count(G_u));
        const T reach = axis_reach<T>(inside, x, wiring) + axis_reach<T>(inside / x, y, wiring)
            + axis_reach<T>(inside / (x * y), z, wiring);
        const T farthest = max(log(inside) / log(T(2.0)), reach) + log(n / inside) / log(T(2.0));
        return choose(which, doublings, farthest, doublings);
    }

    // --- a dragonfly: boards of chips, groups of boards, and groups, each level fully connected ---

    struct dragonfly_group
    {
        static constexpr Spec spec =
            Spec("A", "chip", "chips per dragonfly group", "Kim et al., ISCA 2008")
                .range(1)
                .at_most<scale_up_domain>()
                .otherwise<scale_up_domain>();
    };
    struct dragonfly_board
    {
        static constexpr Spec spec =
            Spec("a", "chip", "chips per fully connected dragonfly board", "Kim et al., ISCA 2008")
                .range(1)
                .at_most<dragonfly_group>()
                .by_default(1);
    };
    struct group_links
    {
        static constexpr Spec spec =
            Spec("l_A", "1", "links per chip to other boards in its dragonfly group", "Kim et al., ISCA 2008").range(0);
        template <class T> static constexpr T formula(in<dragonfly_group, T> A, in<dragonfly_board, T> a)
        { return (A / a - 1.0) / count(a); }
    };
    struct other_groups
    {
        static constexpr Spec spec =
            Spec("\\gamma_A", "1", "other dragonfly groups in the scale-up domain", "Kim et al., ISCA 2008").range(0);
        template <class T> static constexpr T formula(in<scale_up_domain, T> G_u, in<dragonfly_group, T> A)
        { return G_u / A - 1.0; }
    };
    struct minimal_global_links
    {
        static constexpr Spec spec =
            Spec(
                "l_{o1}",
                "1",
                "links per chip to other dragonfly groups, one per pair of groups",
                "Kim et al., ISCA 2008")
                .range(0);
        template <class T> static constexpr T formula(in<other_groups, T> g, in<dragonfly_group, T> A)
        { return g / count(A); }
    };
    struct global_links
    {
        static constexpr Spec spec =
            Spec("l_o", "1", "links per chip to other dragonfly groups", "Kim et al., ISCA 2008")
                .range(0)
                .otherwise<minimal_global_links>();
    };
    // A byte takes the shortest path with at most one link between groups. It moves inside a board before, between and
    // after the links of the levels above.
    struct board_exchange_chips
    {
        static constexpr Spec spec =
            Spec("a_x", "chip", "all-to-all chips within one dragonfly board", "Kim et al., ISCA 2008").range(1);
        template <class T> static constexpr T formula(in<exchange_chips, T> n, in<dragonfly_board, T> a)
        { return min(n, a); }
    };
    struct group_exchange_chips
    {
        static constexpr Spec spec =
            Spec("A_x", "chip", "all-to-all chips within one dragonfly group", "Kim et al., ISCA 2008").range(1);
        template <class T> static constexpr T formula(in<exchange_chips, T> n, in<dragonfly_group, T> A)
        { return min(n, A); }
    };
    struct group_pair_links
    {
        static constexpr Spec spec =
            Spec("l_{AA}", "1", "links between two dragonfly groups", "Kim et al., ISCA 2008").range(0);
        template <class T> static constexpr T formula(in<global_links, T> l_o, in<minimal_global_links, T> one)
        { return select(one > T(0.0), l_o / one, T(0.0)); }
    };
    struct global_hops
    {
        static constexpr Spec spec =
            Spec("h_o", "1", "mean hops between dragonfly groups per all-to-all byte", "Kim et al., ISCA 2008")
                .range(0);
        template <class T> static constexpr T formula(in<group_exchange_chips, T> A, in<exchange_chips, T> n)
        { return 1.0 - A / n; }
    };
    struct group_hops
    {
        static constexpr Spec spec =
            Spec("h_A", "1", "mean hops between dragonfly boards per all-to-all byte", "Kim et al., ISCA 2008")
                .range(0);
        // Of the boards of two groups, so many pairs have a link, and at each end so many boards have none.
        template <class T> static constexpr T formula(
            in<exchange_chips, T> n,
            in<group_exchange_chips, T> A_x,
            in<board_exchange_chips, T> a_x,
            in<global_hops, T> h_o,
            in<dragonfly_group, T> A,
            in<dragonfly_board, T> a,
            in<group_pair_links, T> links)
        {
            const T boards = A / a, without = 1.0 - min(links / boards, 1.0);
            const T inside = (A_x - a_x) / n;
            return select(
                n > A,
                inside + h_o * (1.0 - min(links / (boards * boards), 1.0) + without * without),
                inside);
        }
    };
    struct board_hops
    {
        static constexpr Spec spec =
            Spec("h_a", "1", "mean hops within dragonfly boards per all-to-all byte", "Kim et al., ISCA 2008").range(0);
        template <class T> static constexpr T formula(
            in<board_exchange_chips, T> a_x,
            in<group_hops, T> h_A,
            in<global_hops, T> h_o)
        { return (1.0 - 1.0 / count(a_x)) * (1.0 + (h_A + h_o)); }
    };
    struct dragonfly_links
    {
        static constexpr Spec spec =
            Spec("l", "1", "links per dragonfly chip, all levels", "Kim et al., ISCA 2008").range(0);
        template <class T> static constexpr T formula(
            in<dragonfly_board, T> a,
            in<group_links, T> l_A,
            in<global_links, T> l_o)
        { return count(a) - 1.0 + (l_A + l_o); }
    };
    struct dragonfly_load
    {
        static constexpr Spec spec =
            Spec(
                "l_x",
                "1",
                "busiest-link load in a dragonfly all-to-all, in equivalent hops",
                "Dally and Towles, Interconnection Networks, 2004")
                .range(0);
        template <class T> static constexpr T formula(
            in<board_hops, T> h_a,
            in<group_hops, T> h_A,
            in<global_hops, T> h_o,
            in<exchange_chips, T> n,
            in<group_exchange_chips, T> A_x,
            in<board_exchange_chips, T> a_x,
            in<other_groups, T> g,
            in<dragonfly_group, T> A,
            in<dragonfly_board, T> a,
            in<group_links, T> l_A,
            in<global_links, T> l_o,
            in<dragonfly_links, T> l)
        {
            const T board = select(count(a_x) > T(1.0), h_a * (l / (count(a_x) - 1.0)), T(0.0));
            const T group = select(A_x > a_x, h_A * (l / l_A) / ((A_x / a_x - 1.0) / (A / a - 1.0)), T(0.0));
            const T global = select(n > A, h_o * (l / l_o) / ((n / A - 1.0) / g), T(0.0));
            return max(board, max(group, global));
        }
    };

    // --- exchanges: all to all ---

    struct mean_hops
    {
        static constexpr Spec spec = Spec(
            "\\bar h",
            "1",
            "mean hops per all-to-all byte, 1 through a switch",
            "Dally and Towles, Interconnection Networks, 2004");
        template <class T> static constexpr T formula(
            in<scale_up_topology, T> which,
            in<length_hops, T> h_1,
            in<width_hops, T> h_2,
            in<height_hops, T> h_3,
            in<board_hops, T> h_a,
            in<group_hops, T> h_A,
            in<global_hops, T> h_o)
        { return choose(which, T(1.0), h_1 + h_2 + h_3, h_a + h_A + h_o); }
    };
    struct link_imbalance
    {
        static constexpr Spec spec =
            Spec(
                "\\mu_u",
                "1",
                "ratio of busiest to mean link load in an all-to-all",
                "Dally and Towles, Interconnection Networks, 2004")
                .range(1);
        template <class T> static constexpr T formula(
            in<scale_up_topology, T> which,
            in<torus_wiring, T> wiring,
            in<torus_dimensions, T> d,
            in<exchange_chips, T> n,
            in<length_hops, T> h_1,
            in<width_hops, T> h_2,
            in<height_hops, T> h_3,
            in<length_load, T> l_1,
            in<width_load, T> l_2,
            in<height_load, T> l_3,
            in<board_hops, T> h_a,
            in<group_hops, T> h_A,
            in<global_hops, T> h_o,
            in<dragonfly_load, T> l_x)
        {
            const T axes = d * max(l_1, max(l_2, l_3)) / (h_1 + h_2 + h_3), one(1.0);
            const T torus = select(is<torus_wiring>(wiring, "twisted"), one, axes);
            const T levels = l_x / (h_a + h_A + h_o);
            return choose(which, one, select(count(n) > one, torus, one), select(count(n) > one, levels, one));
        }
    };

    // --- sums: all-reduce ---

    // The levels add up one inside the other, as domains do; on each, all chips send to all.
    template <class T> constexpr T dragonfly_sum_share(
        const T& all,
        const T& stride,
        in<scale_up_domain, T> G_u,
        in<other_groups, T> g,
        in<dragonfly_group, T> group,
        in<dragonfly_board, T> board,
        in<group_links, T> l_A,
        in<global_links, T> l_o,
        in<dragonfly_links, T> l)
    {
        const T n = min(all, max(count(G_u) / stride, 1.0));
        const T of_group = max(count(group) / stride, 1.0), of_board = max(count(board) / stride, 1.0);
        const T on_board = min(n, of_board), boards = min(max(n / of_board, 1.0), of_group / of_board);
        const T groups = max(n / of_group, 1.0);
        const T inside = select(on_board > T(1.0), 1.0 / on_board, T(0.0));
        const T between =
            select(boards > T(1.0), (count(group) / count(board) - 1.0) / (on_board * (boards * l_A)), T(0.0));
        const T across = select(groups > T(1.0), g / (on_board * boards * (groups * l_o)), T(0.0));
        const T share = (1.0 - 1.0 / n) / (max(inside, max(between, across)) * l);
        return select(n > T(1.0), share, T(1.0));
    }
    // Link bandwidth of a chip in an all-reduce among n chips, `stride` chips from one another. They keep `links` of a
    // chip's links busy in a torus.
    template <class T> constexpr T sum_bandwidth(
        in<scale_up_topology, T> which,
        in<scale_up_bandwidth, T> u,
        const T& n,
        const T& stride,
        const T& links,
        in<scale_up_domain, T> G_u,
        in<torus_dimensions, T> d,
        in<other_groups, T> g,
        in<dragonfly_group, T> A,
        in<dragonfly_board, T> a,
        in<group_links, T> l_A,
        in<global_links, T> l_o,
        in<dragonfly_links, T> l)
    {
        return choose(
            which,
            u,
            u * (max(links, 1.0) / (2.0 * d)),
            u * dragonfly_sum_share<T>(n, stride, G_u, g, A, a, l_A, l_o, l));
    }
    struct tensor_link_bandwidth
    {
        static constexpr Spec spec = Spec(
            "u_t",
            "byte/s/chip",
            "all-reduce link bandwidth among tensor-parallel (TP) chips",
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
            in<other_groups, T> g,
            in<dragonfly_group, T> A,
            in<dragonfly_board, T> a,
            in<group_links, T> l_A,
            in<global_links, T> l_o,
            in<dragonfly_links, T> l)
        {
            const T links = torus_links<T>(count(G_t), x, y, z, wiring);
            return sum_bandwidth<T>(which, u, count(G_t), T(1.0), links, G_u, d, g, A, a, l_A, l_o, l);
        }
    };
    struct stage_link_bandwidth
    {
        static constexpr Spec spec = Spec(
            "u_P",
            "byte/s/chip",
            "all-reduce link bandwidth among all chips of a pipeline stage",
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
            in<other_groups, T> g,
            in<dragonfly_group, T> A,
            in<dragonfly_board, T> a,
            in<group_links, T> l_A,
            in<global_links, T> l_o,
            in<dragonfly_links, T> l)
        {
            const T links = torus_links<T>(count(G_P), x, y, z, wiring);
            return sum_bandwidth<T>(which, u, count(G_P), T(1.0), links, G_u, d, g, A, a, l_A, l_o, l);
        }
    };

    // --- hops from stage to stage ---

    struct stage_link_share
    {
        static constexpr Spec spec = Spec(
            "\\phi_1",
            "1",
            "fraction of a chip's links toward the next pipeline stage",
            "Dally and Towles, Interconnection Networks, 2004");
        // Stages fill a torus one after the other, and a byte crosses the thickness of its stage along the stacking
        // axis. In a dragonfly a chip has one link to its peer, if any.
        template <class T> static constexpr T formula(
            in<scale_up_topology, T> which,
            in<chips_per_stage, T> G_P,
            in<other_groups, T> g,
            in<torus_dimensions, T> d,
            in<torus_length, T> x,
            in<torus_width, T> y,
            in<dragonfly_group, T> A,
            in<dragonfly_board, T> a,
            in<group_links, T> l_A,
            in<global_links, T> l_o,
            in<dragonfly_links, T> l)
        {
            const T n = count(G_P), plane = x * y;
            const T below = select(n < x, T(1.0), select(n < plane, x, plane));
            const T boards = l_A / (A / a - 1.0), groups = select(g > T(0.0), l_o / g, T(1.0));
            const T peer = select(n < count(a), T(1.0), select(n < count(A), boards, groups));
            return choose(which, T(1.0), below / (n * (2.0 * d)), peer / l);
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
        exchange_chips,
        length_chips,
        width_chips,
        height_chips,
        length_hops,
        length_load,
        width_hops,
        width_load,
        height_hops,
        height_load,
        dragonfly_group,
        dragonfly_board,
        group_links,
        other_groups,
        minimal_global_links,
        global_links,
        board_exchange_chips,
        group_exchange_chips,
        group_pair_links,
        global_hops,
        group_hops,
        board_hops,
        dragonfly_links,
        dragonfly_load,
        mean_hops,
        link_imbalance,
        tensor_link_bandwidth,
        stage_link_bandwidth,
        stage_link_share>;
}
