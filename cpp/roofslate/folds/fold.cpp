#include "roofslate/folds/fold.hpp"
#include "roofslate/language/error.hpp"
#include <stdexcept>

namespace roofslate
{
    Requirement Scope::requirement(const Condition& condition) const
    {
        const int lhs = node(condition.lhs), rhs = node(condition.rhs), zero = graph.constant(0);
        switch (condition.kind)
        {
        case Condition::Kind::equal: return {zero, graph.operation(Op::equal, lhs, rhs), true};
        case Condition::Kind::not_equal: return {graph.operation(Op::equal, lhs, rhs), zero, false};
        case Condition::Kind::less: return {lhs, rhs, true};
        default: return {lhs, rhs, false};
        }
    }
    std::vector<Requirement> Scope::requirements(const std::vector<Condition>& conditions) const
    {
        std::vector<Requirement> all;
        for (const Condition& condition : conditions)
            all.push_back(requirement(condition));
        return all;
    }

    Answer Fold::over(const Sample&, const Question&, const Options&) const
    { throw std::logic_error("this fold does not run over a sample"); }

    Best::Best(Formula objective, bool maximize, std::vector<Condition> conditions)
        : objective_(std::move(objective)), maximize_(maximize), conditions_(std::move(conditions))
    {
    }
    Question Best::ask(const Scope& scope, AxisSet folded) const
    {
        const int node = scope.node(objective_);
        const int smaller = maximize_ ? scope.graph.operation(Op::neg, node) : node;
        return {scope.graph, {smaller}, scope.requirements(conditions_), folded};
    }
    Answer Best::over(const Question& question, const Options& options, bool prune) const
    {
        Optima optima = best(question, options, prune && is_worth_bounds(question));
        if (maximize_)
            for (double& value : optima.values)
                value = -value;
        return {std::move(optima.values), std::move(optima.where)};
    }

    Pareto::Pareto(std::vector<Formula> objectives, std::vector<bool> maximize, std::vector<Condition> conditions)
        : objectives_(std::move(objectives)), maximize_(std::move(maximize)), conditions_(std::move(conditions))
    {
        if (objectives_.empty() || objectives_.size() > most_objectives || maximize_.size() != objectives_.size())
            throw Error(
                "ValueRangeError",
                "pareto takes one to " + std::to_string(most_objectives) + " objectives, "
                    + std::to_string(objectives_.size()) + " were given");
    }
    Question Pareto::ask(const Scope& scope, AxisSet folded) const
    {
        Question question{scope.graph, {}, scope.requirements(conditions_), folded};
        for (std::size_t k = 0; k < objectives_.size(); ++k)
        {
            const int node = scope.node(objectives_[k]);
            question.values.push_back(maximize_[k] ? scope.graph.operation(Op::neg, node) : node);
        }
        return question;
    }
    Answer Pareto::over(const Question& question, const Options& options, bool prune) const
    { return {{}, pareto(question, options, prune)}; }

    Count::Count(std::vector<Condition> conditions) : conditions_(std::move(conditions)) {}
    Question Count::ask(const Scope& scope, AxisSet folded) const
    { return {scope.graph, {}, scope.requirements(conditions_), folded}; }
    Question Count::ask_met(const Scope& scope, AxisSet folded) const
    {
        int met = scope.graph.constant(1);
        for (const Condition& condition : conditions_)
        {
            const Requirement r = scope.requirement(condition);
            met = scope.graph.operation(
                Op::both,
                met,
                scope.graph.operation(r.strict ? Op::less : Op::less_equal, r.lhs, r.rhs));
        }
        return {scope.graph, {met}, {}, folded};
    }
    Answer Count::over(const Question& question, const Options& options, bool prune) const
    { return {{}, count(question, options, prune)}; }

    OfValue::OfValue(Formula value) : value_(std::move(value)) {}
    Question OfValue::ask(const Scope& scope, AxisSet folded) const
    { return {scope.graph, {scope.node(value_)}, {}, folded}; }

    Histogram::Histogram(Formula value, std::vector<double> edges) : OfValue(std::move(value)), edges_(std::move(edges))
    {
    }
    Answer Histogram::over(const Question& question, const Options& options, bool prune) const
    { return {{}, histogram(question, edges_, options, prune)}; }

    Answer Extent::over(const Question& question, const Options& options, bool) const
    {
        const Range r = finite_extent(question, options);
        return {{r.low, r.high}, {}};
    }

    Quantiles::Quantiles(Formula value, std::vector<double> q) : OfValue(std::move(value)), q_(std::move(q)) {}
    Answer Quantiles::over(const Question& question, const Options& options, bool) const
    { return {quantiles(question, q_, options), {}}; }
}
