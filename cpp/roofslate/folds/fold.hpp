// Folds as objects: each says which nodes it asks of a grid, reduces them, and merges the answers of parts.
//
// A new fold is a class here, its constructor in python/bind_folds.cpp and a class of its name in
// python/roofslate/folds/.
#pragma once
#include "roofslate/folds/folds.hpp"
#include "roofslate/graph/formula.hpp"

namespace roofslate
{
    class Sample;

    // Whatever a fold finds: numbers, counts (or positions), or both, for each point of the kept axes.
    struct Answer
    {
        std::vector<double> numbers;
        std::vector<std::int64_t> counts;
    };

    // Turns formulas into nodes.
    struct Scope
    {
        const Registry& registry;
        Graph& graph;
        Closure& closure;

        int node(const Formula& formula) const { return node_of(formula, registry, graph, closure); }
        Requirement requirement(const Condition& condition) const;
        std::vector<Requirement> requirements(const std::vector<Condition>& conditions) const;
    };

    class Fold
    {
    public:
        virtual ~Fold() = default;
        virtual Question ask(const Scope& scope, AxisSet folded) const = 0;
        virtual Answer over(const Question& question, const Options& options, bool prune) const = 0;
        // Over a grid one axis of which is drawn block by block; only folds whose answer does not say where.
        virtual Answer over(const Sample& sample, const Question& full_question, const Options& options) const;
    };

    class Best : public Fold
    {
    public:
        Best(Formula objective, bool maximize, std::vector<Condition> conditions);
        Question ask(const Scope& scope, AxisSet folded) const override;
        Answer over(const Question& question, const Options& options, bool prune) const override;

    private:
        Formula objective_;
        bool maximize_;
        std::vector<Condition> conditions_;
    };

    class Pareto : public Fold
    {
    public:
        Pareto(std::vector<Formula> objectives, std::vector<bool> maximize, std::vector<Condition> conditions);
        Question ask(const Scope& scope, AxisSet folded) const override;
        Answer over(const Question& question, const Options& options, bool prune) const override;

    private:
        std::vector<Formula> objectives_;
        std::vector<bool> maximize_;
        std::vector<Condition> conditions_;
    };

    class Count : public Fold
    {
    public:
        explicit Count(std::vector<Condition> conditions);
        Question ask(const Scope& scope, AxisSet folded) const override;
        Answer over(const Question& question, const Options& options, bool prune) const override;
        Answer over(const Sample& sample, const Question& full_question, const Options& options) const override;
        Question ask_met(const Scope& scope, AxisSet folded) const; // truth of all conditions, as a value

    private:
        std::vector<Condition> conditions_;
    };

    // A fold of one value.
    class OfValue : public Fold
    {
    public:
        explicit OfValue(Formula value);
        Question ask(const Scope& scope, AxisSet folded) const override;

    private:
        Formula value_;
    };
    class Histogram : public OfValue
    {
    public:
        Histogram(Formula value, std::vector<double> edges);
        Answer over(const Question& question, const Options& options, bool prune) const override;
        Answer over(const Sample& sample, const Question& full_question, const Options& options) const override;

    private:
        std::vector<double> edges_;
    };
    class Extent : public OfValue // smallest and largest finite value
    {
    public:
        using OfValue::OfValue;
        Answer over(const Question& question, const Options& options, bool prune) const override;
        Answer over(const Sample& sample, const Question& full_question, const Options& options) const override;
    };
    class Quantiles : public OfValue
    {
    public:
        Quantiles(Formula value, std::vector<double> q);
        Answer over(const Question& question, const Options& options, bool prune) const override;
        Answer over(const Sample& sample, const Question& full_question, const Options& options) const override;

    private:
        std::vector<double> q_;
    };
}
