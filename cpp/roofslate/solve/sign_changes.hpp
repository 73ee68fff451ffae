// Where a comparison turns on one side of zero, for many points at once.
#pragma once
#include "roofslate/derivatives/tangent.hpp"
#include "roofslate/run/parallel.hpp"
#include "roofslate/solve/invariants.hpp"
#include "roofslate/solve/roots.hpp"

namespace roofslate
{
    // A comparison and what its sides change by where the unknown does; -1: nothing.
    struct Equation
    {
        explicit Equation(const Comparison& c)
            : comparison(c),
              tangent(c.graph, c.unknown.leaf),
              left_slope(tangent(c.left)),
              right_slope(tangent(c.right))
        {
        }
        const Comparison& comparison;
        Tangents tangent;
        int left_slope, right_slope;
    };

    using Point = std::uint16_t; // of a block
    // What is known at a value of the unknown: -1, 0 or 1 as the left side is less, equal within rounding or greater,
    // of an inequality -1 where it holds and 1 where it does not, NaN where a side is undefined; and the gap between
    // the sides.
    struct End
    { double state, gap; };
    struct Ends // of the points of a block
    {
        std::array<double, LaneGraph::capacity> state{}, gap{};
        End operator[](std::size_t i) const { return {state[i], gap[i]}; }
    };
    struct Crossings // roots, or stretches of them, in columns; magnitudes of the unknown
    {
        std::vector<Point> point;
        std::vector<double> from, to;

        std::size_t size() const { return point.size(); }
        void clear() { point.clear(), from.clear(), to.clear(); }
        void add(const Point* p, const double* x, std::size_t n)
        { point.insert(point.end(), p, p + n), from.insert(from.end(), x, x + n), to.insert(to.end(), x, x + n); }
        void add(Point p, double x, double z) { point.push_back(p), from.push_back(x), to.push_back(z); }
    };

    // The unknown is y or -y with y > 0; or zero, whatever y is.
    class HalfLine
    {
    public:
        static constexpr std::size_t block = LaneGraph::capacity;
        using Numbers = std::array<double, block>;

        HalfLine(
            const Equation& equation,
            const Givens& givens,
            double sign,
            const Range& y,
            const InstructionSet& set);

        // Starts with some points of a block, each with its stretch of y; what is passed stays where it is.
        void begin(
            const Givens::Reader& given,
            const std::vector<Point>& points,
            const Numbers& low,
            const Numbers& high);
        double low(std::size_t point) const { return (*low_)[point]; }
        double high(std::size_t point) const { return (*high_)[point]; }
        double state_at_low(std::size_t point) const { return low_ends_.state[point]; }
        double state_at_high(std::size_t point) const { return high_ends_.state[point]; }
        bool was_defined(std::size_t point) const { return defined_[point]; } // somewhere
        bool did_hold(std::size_t point) const
        { return held_[point] || state_at_low(point) == -1 || state_at_high(point) == -1; }
        // For those of the points that are still open; of the smallest or largest y one a point, at most.
        const Crossings& find(const std::vector<Point>& points, Which which, Progress& progress);

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
            std::array<bool, block> sure;
            std::array<Stretch, block> whole; // where it is not sure, or all roots are wanted
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
        // where a comparison turns, or where a stretch of roots ends: Newton's step does not see that one
        struct Narrowing
        {
            std::array<Step, 4> steps; // by kind
            std::unique_ptr<Brackets> to_come = std::make_unique<Brackets>(), brackets = std::make_unique<Brackets>();
        };
        enum class Verdict
        {
            none, // nothing turns inside
            settled, // the ends tell
            split,
        };
        Stretch whole(Point p) const { return {p, low(p), high(p), low_ends_[p], high_ends_[p]}; }
        bool is_sure(std::size_t lane) const { return bounds_[3][lane] != 0; }
        void build(const Equation& equation, const Givens& givens, double sign, const Range& y);
        void load(const Point* points, std::size_t n);
        void evaluate(const Point* points, std::size_t n); // at y_
        const double* states() const { return plain_ ? states_[0] : values_[0]; }
        // of a plain line nobody asks for it
        double gap(std::size_t lane) const { return plain_ ? NAN : values_[1][lane]; }
        Verdict judge(const Stretch& s, std::size_t lane) const;
        double state(const End& end) const { return equal_ || end.state == end.state ? end.state : 1; }
        void conclude_plain(const std::vector<Point>& points);
        void conclude(const Stretch& s, bool sure);
        void add_bracket(const Stretch& s, bool sure, bool last);
        void split(const std::vector<Stretch>& stretches);
        void narrow();
        void narrow(Narrowing& narrowing);
        LaneProgram& program_of(Step& step);
        void settle(Brackets& k);

        const InstructionSet& set_;
        bool equal_;
        bool plain_ = false; // all of it is a stretch in which the comparison turns once at most, without a jump
        bool scans_ = false; // nothing is known of stretches: a side has a routine
        LaneGraph lanes_;
        std::vector<double*> given_lanes_;
        double *y_ = nullptr, *a_ = nullptr, *b_ = nullptr, *mark_ = nullptr, *want_ = nullptr, *open_ = nullptr;
        LaneProgram states_, values_, bounds_;
        Step leap_, step_, arrival_; // towards a turn, without a bracket: from its far end; nearer; and if it is there
        Narrowing turns_, edges_;

        const Givens::Reader* given_ = nullptr;
        std::array<Point, block> loaded_; // points of lanes
        std::size_t loaded_lanes_ = 0;
        // by point
        const Numbers *low_ = nullptr, *high_ = nullptr;
        Ends low_ends_, high_ends_;
        std::array<bool, block> defined_, held_;
        std::array<std::size_t, block> stretches_; // looked at
        std::vector<std::vector<Stretch>> stack_; // the next one last

        Which which_ = Which::smallest;
        Crossings crossings_;
    };
}
