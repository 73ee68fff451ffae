// Sign changes of a comparison on one side of zero, for many points at once.
#pragma once
#include "roofslate/derivatives/tangent.hpp"
#include "roofslate/run/parallel.hpp"
#include "roofslate/solve/invariants.hpp"
#include "roofslate/solve/lanes.hpp"
#include "roofslate/solve/roots.hpp"

namespace roofslate
{
    // A comparison and the slopes of its sides by the unknown, -1 for none.
    struct Equation
    {
        explicit Equation(const Comparison& c)
            : comparison(c), tangent(c.graph, c.unknown.leaf), left_slope(tangent(c.lhs)), right_slope(tangent(c.rhs))
        {
        }
        const Comparison& comparison;
        Tangents tangent;
        int left_slope, right_slope;
    };

    // Results at a value of the unknown: -1, 0 or 1 as the left side is less, equal within rounding or greater,
    // of an inequality -1 where it holds within rounding and 1 where it does not, NaN where a side is undefined; the
    // same by only the computed values; whether the sides are a few roundings apart; their difference; the logarithm
    // of their ratio, if they have one sign; and how far rounding may move them.
    struct End
    { double state, sign, near, apart, ratio, error; };
    struct Ends // of the points of a block
    {
        std::array<double, LaneGraph::capacity> state{}, sign{}, near{}, apart{}, ratio{}, error{};
        End operator[](std::size_t i) const { return {state[i], sign[i], near[i], apart[i], ratio[i], error[i]}; }
    };
    struct Crossings // roots, or stretches of them, in columns; magnitudes of the unknown
    {
        enum Flag : std::uint8_t
        {
            hazy = 1,    // rounding hides where it is
            guessed = 2, // that the sides agree between its ends
            hidden = 8,  // ... and whether it is one
            begins = 4,  // of an inequality: it holds above
        };
        std::vector<Point> point;
        std::vector<double> from, to, gap; // how far the sides are apart
        std::vector<std::uint8_t> flags;

        std::size_t size() const { return point.size(); }
        void clear() { point.clear(), from.clear(), to.clear(), gap.clear(), flags.clear(); }
        void add_values(const Point* p, const double* x, std::size_t n)
        {
            point.insert(point.end(), p, p + n), from.insert(from.end(), x, x + n), to.insert(to.end(), x, x + n);
            gap.resize(point.size(), 0), flags.resize(point.size(), 0);
        }
        void add(Point p, double x, double z, double distance, int flag)
        {
            point.push_back(p), from.push_back(x), to.push_back(z);
            gap.push_back(distance), flags.push_back(std::uint8_t(flag));
        }
    };

    // The unknown is y or -y with y > 0; or zero, whatever y is.
    class HalfLine
    {
    public:
        static constexpr std::size_t block = LaneGraph::capacity;
        using Numbers = std::array<double, block>;
        using Truths = std::array<bool, block>;

        HalfLine(
            const Equation& equation,
            const Givens& givens,
            double sign,
            const Range& y,
            const InstructionSet& set);

        // Starts with some points of a block, each with its stretch of y. The arguments are not modified.
        void begin(
            const Givens::Reader& given,
            const std::vector<Point>& points,
            const Numbers& low,
            const Numbers& high);
        void begin_again(std::size_t point) { stretches_[point] = 0, unsearched_[point] = {HUGE_VAL, -HUGE_VAL}; }
        double low(std::size_t point) const { return (*low_)[point]; }
        double high(std::size_t point) const { return (*high_)[point]; }
        double state_at_low(std::size_t point) const { return decoded(low_ends_.state[point]); }
        double state_at_high(std::size_t point) const { return decoded(high_ends_.state[point]); }
        bool was_defined(std::size_t point) const { return defined_[point]; } // somewhere
        // Of an inequality that turns nowhere: does it hold? If rounding is larger than the distance of the sides,
        // no value decides.
        bool did_hold(std::size_t point) const
        {
            if (held_surely_[point] || failed_surely_[point])
                return held_surely_[point];
            return held_[point] || state_at_low(point) == -1 || state_at_high(point) == -1;
        }
        bool is_sure(std::size_t point) const { return plain_ || held_surely_[point] || failed_surely_[point]; }
        End look(Point point, double y); // at one value
        // Each point has one crossing at most, which is a single value, and nothing is left of it.
        bool is_plain() const { return plain_; }
        bool has_unsearched(std::size_t point) const { return unsearched_[point].low <= unsearched_[point].high; }
        const Range& unsearched(std::size_t point) const { return unsearched_[point]; } // contains all of it
        // For the requested points, in no order. Of the smallest or largest y, ranges far beyond the
        // first root are left out, unless all of the point is requested.
        const Crossings& find(
            const std::vector<Point>& points,
            Which which,
            const Truths& all_of_point,
            Progress& progress);

    private:
        struct Stretch
        {
            Point point;
            double a, b;
            End at_a, at_b;
        };
        struct Brackets // of turns
        {
            std::size_t size = 0;
            std::array<Point, block> point;
            Numbers a, b, root;
            Numbers mark; // the state that ends or begins ...
            Numbers want; // ... here: 1 if it begins
            Truths sure;
            std::array<Stretch, block> full; // unless the line is plain
        };
        struct Step // a program that is made when it is needed
        {
            std::vector<int> nodes;
            LaneProgram program;
        };
        enum Kind
        {
            near,
            far,
            halving,
            returning, // to the other end of the bracket
        };
        // at a sign change, or at the end of a stretch of roots: Newton's step does not see that one
        struct Narrowing
        {
            std::array<Step, 4> steps; // by kind
            std::unique_ptr<Brackets> to_come = std::make_unique<Brackets>(), brackets = std::make_unique<Brackets>();
        };
        enum class Verdict
        {
            none, // nothing turns inside
            settled, // the ends decide
            agreed, // within rounding the sides agree all along
            split,
            left, // nothing more can be proved
            settled_and_left,
            look_through, // number by number
        };
        struct Look // at values of the unknown: the columns of values_
        {
            enum Column
            {
                state,
                sign,
                near,
                agreed, // as at a root
                explained, // by rounding, and the distance of numbers
                close, // not far from agreed
                gap,
                hazy,
                apart,
                ratio, // its logarithm
                error,
            };
        };
        struct Proof // what bounds say of stretches: the columns of bounds_
        {
            enum Column
            {
                nothing, // turns inside
                once, // it turns at most
                known, // there are bounds
                sure, // ... and it does not jump
                slowest, // slopes of the ratio, in logarithms
                fastest,
                least, // ... of the difference
                greatest,
                level, // nothing but rounding changes; or `pinched_level`: the sides agree all along
            };
        };
        // A side declared monotone may jump: nothing more is known of it.
        double proof(Proof::Column column, std::size_t lane) const
        {
            if (!one_way_)
                return bounds_.program[column][lane];
            return column == Proof::once ? 1 : column < Proof::slowest || column == Proof::level ? 0 : NAN;
        }
        Stretch full(Point p) const { return {p, low(p), high(p), low_ends_[p], high_ends_[p]}; }
        void build(const Equation& equation, const Givens& givens, double sign, const Range& y);
        void load(const Point* points, std::size_t n);
        void evaluate(const Point* points, std::size_t n); // at y_
        const LaneProgram& seen() const { return plain_ ? states_ : values_; }
        // of a plain line nobody asks how near the sides are
        End end(std::size_t lane) const
        {
            return {
                seen()[Look::state][lane],
                plain_ ? 0 : values_[Look::sign][lane],
                plain_ ? 0 : values_[Look::near][lane],
                plain_ ? 0 : values_[Look::apart][lane],
                plain_ ? 0 : values_[Look::ratio][lane],
                plain_ ? 0 : values_[Look::error][lane]};
        }
        enum class Meeting
        {
            root,
            hidden, // rounding is larger than the difference
            jump,
        };
        Meeting meeting(std::size_t lane, const Stretch& full) const;
        void look_at(const Stretch* stretches, std::size_t n);
        Verdict judge(const Stretch& s, std::size_t lane) const;
        Verdict judge_alike(const Stretch& s, std::size_t lane, bool telling) const;
        void look_through(const Stretch& s);
        bool is_clear(const Stretch& s, std::size_t lane) const;
        bool moves_away(const Stretch& s, std::size_t lane) const;
        bool hides(const End& end) const;
        bool is_drowned(const Stretch& s, std::size_t lane) const;
        // Of an inequality on a plain line one column has the state and the sign: half a sign is within rounding.
        double decoded(double state) const
        { return plain_ && !equal_ && std::fabs(state) == level_sign ? (strict_ ? 1 : -1) : state; }
        double state(const End& end) const
        { return end.state == end.state ? decoded(end.state) : equal_ ? undefined_state : 1; }
        double sign(const End& end) const
        {
            if (plain_)
                return equal_ ? end.state : end.state < 0 ? -1 : 1;
            return end.sign == end.sign ? end.sign : 1;
        }
        static constexpr double level_sign = 0.5;
        static constexpr double pinched_level = 2;
        static constexpr double undefined_state = 2, close_and_near = 2, agreed_and_near = 3;
        void leave(const Stretch& s);
        void conclude_plain(const std::vector<Point>& points);
        void conclude(const Stretch& s, bool sure);
        void add_bracket(Narrowing& narrowing, const Stretch& s, double mark, bool want, bool sure);
        void push(const Stretch& lower, const Stretch& upper);
        void split(const std::vector<Stretch>& stretches);
        bool is_wanted(const Stretch& s) const;
        bool is_beside(const Stretch& next, const Stretch& other) const;
        void next_batch(const std::vector<Point>& points, std::vector<Stretch>& batch);
        void prune(std::size_t first, const Truths& all_of_point);
        void narrow();
        void narrow(Narrowing& narrowing);
        LaneProgram& program_of(Step& step);
        void settle(Brackets& k, bool edges);
        void settle_inequality(const Brackets& k);
        void settle_edges(const Brackets& k);
        void settle_turns(const Brackets& k);
        void settle_by_sides(
            const std::vector<Stretch>& wholes,
            const std::vector<double>& roots,
            const std::vector<bool>& sure);
        void see_through_haze();
        enum class Passage
        {
            jump,
            crossing,
            shaken,
        };
        Passage passage(Point point, double y);
        void add_turns(Point point, std::vector<Stretch>& stretches);

        const InstructionSet& set_;
        bool equal_, strict_;
        bool plain_ = false; // all of it is a stretch in which the comparison turns once at most, without a jump
        bool one_way_ = false; // declared: the comparison turns once at most
        bool scans_ = false; // nothing is known of stretches: a side has a routine
        LaneGraph lanes_;
        std::vector<double*> given_lanes_;
        double *y_ = nullptr, *a_ = nullptr, *b_ = nullptr, *mark_ = nullptr, *want_ = nullptr, *open_ = nullptr;
        LaneProgram states_, values_;
        Step bounds_;
        std::size_t most_stretches_; // of a point, that are looked at
        Step levels_; // states, of an inequality on a plain line, if a side is so near that slopes must decide
        Step leap_, step_, arrival_; // towards a turn, without a bracket: from its far end; nearer; and if it is there
        Narrowing turns_, edges_;

        const Givens::Reader* given_ = nullptr;
        std::array<Point, block> loaded_; // points of lanes
        std::size_t loaded_lanes_ = 0;
        // by point
        const Numbers *low_ = nullptr, *high_ = nullptr;
        Ends low_ends_, high_ends_;
        Truths defined_, held_, held_surely_, failed_surely_;
        std::array<std::size_t, block> stretches_; // looked at
        std::array<Range, block> unsearched_;
        Numbers beyond_; // no caller requests values there
        std::vector<std::vector<Stretch>> stack_; // the next one last

        Which which_ = Which::smallest;
        Crossings crossings_;
    };
}
