#include "roofslate/derivatives/adjoint.hpp"
#include "roofslate/folds/folds.hpp"
#include <algorithm>

namespace roofslate
{
    Derivation::Derivation(Graph& graph, int output, const std::vector<int>& inputs, Derivative kind, bool at_limits)
        : graph_(graph),
          output_(output),
          inputs_(inputs),
          kind_(kind),
          at_limits_(at_limits),
          saturation_(graph),
          live_(std::size_t(output) + 1, 0),
          uses_(std::size_t(output) + 1),
          wanted_(std::size_t(output) + 1, {false, false}),
          adjoints_(std::size_t(output) + 1, {none, none}),
          activity_(std::size_t(output) + 1, unknown),
          settled_(std::size_t(output) + 1, unknown)
    {
        find_live();
        refuse_what_has_no_partial();
        find_wanted();
        for (int i = output_; i >= 0; --i)
            for (const Form form : {relative, absolute})
                if (wanted_[std::size_t(i)][form])
                {
                    int total = i == output_ ? root(form) : none;
                    for (const Use& use : uses_[std::size_t(i)])
                        total = sum(total, contribution(use, form));
                    adjoints_[std::size_t(i)][form] = total;
                }
        for (const int input : inputs_)
            smooth_.push_back(finished(
                !is_live(input) ? none : adjoint(input, kind_ == Derivative::elasticity ? relative : absolute)));
        for (int i = 0; i <= output_; ++i)
        {
            if (!live_[std::size_t(i)] || !may_turn(i))
                continue;
            const auto [a, b] = turn_of(graph_[i]);
            const int equal = apply(Op::equal, a, b), active = activity(i);
            kinks_.push_back({i, active == none ? equal : apply(Op::both, active, equal)});
        }
    }

    // --- plan ---

    int Derivation::fixed_choice(const Node& n)
    {
        const Range a = range(n.argument[0]), b = range(n.argument[1]);
        const bool first_is_larger = a.low > b.high, second_is_larger = b.low > a.high;
        return !first_is_larger && !second_is_larger ? -1 : first_is_larger == (n.op == Op::max) ? 0 : 1;
    }
    int Derivation::first_is_taken(const Node& n)
    {
        const auto [a, b, c] = n.argument;
        return n.op == Op::max ? apply(Op::less, b, a) : apply(Op::less, a, b);
    }
    // A root's slope at 0 is infinite, or depends on the side, as for the root of a square. Finite slopes need no
    // search.
    bool Derivation::may_turn(int i)
    {
        const Node n = graph_[i];
        if (n.op == Op::sqrt)
            return at_limits_ && !not_zero(n.argument[0]);
        return (n.op == Op::max || n.op == Op::min) && n.argument[0] != n.argument[1] && fixed_choice(n) < 0;
    }
    std::pair<int, int> Derivation::turn_of(const Node& n)
    { return {n.argument[0], n.op == Op::sqrt ? number(0) : n.argument[1]}; }
    bool Derivation::passes(const Node& n, int position)
    {
        const bool same = n.arity() == 2 && n.argument[0] == n.argument[1];
        switch (n.op)
        {
        case Op::add:
        case Op::mul:
        case Op::neg:
        case Op::pow:
        case Op::exp:
        case Op::log:
        case Op::sqrt:
        case Op::routine: return true;
        case Op::sub:
        case Op::div: return !same; // 0 and 1
        case Op::min:
        case Op::max: return same ? position == 0 : fixed_choice(n) < 0 || fixed_choice(n) == position;
        case Op::select: return position > 0;
        default: return false;
        }
    }
    void Derivation::find_live()
    {
        std::vector<char> depends(live_.size(), 0), reaches(live_.size(), 0);
        for (const int input : inputs_)
            if (input >= 0 && input <= output_)
                depends[std::size_t(input)] = 1;
        for (int i = 0; i <= output_; ++i)
            for (int k = 0; k < graph_[i].arity() && !depends[std::size_t(i)]; ++k)
                depends[std::size_t(i)] =
                    depends[std::size_t(graph_[i].argument[std::size_t(k)])] && passes(graph_[i], k);
        saturation_.vary(depends);
        reaches.back() = 1;
        for (int i = output_; i >= 0; --i)
        {
            if (!reaches[std::size_t(i)] || !depends[std::size_t(i)])
                continue;
            live_[std::size_t(i)] = 1;
            for (int k = 0; k < graph_[i].arity(); ++k)
                if (const std::size_t argument = std::size_t(graph_[i].argument[std::size_t(k)]);
                    depends[argument] && passes(graph_[i], k))
                {
                    reaches[argument] = 1;
                    uses_[argument].push_back({i, k});
                }
        }
    }
    void Derivation::refuse_what_has_no_partial()
    {
        for (int i = 0; i <= output_; ++i)
            for (const Use& use : uses_[std::size_t(i)])
            {
                const Routine* const routine = graph_[use.user].routine;
                if (!routine || routine->partials[std::size_t(use.position)])
                    continue;
                NoPartial refused{routine, use.position, {}};
                std::vector<char> reaches(std::size_t(i) + 1, 0);
                reaches.back() = 1;
                for (int j = i; j >= 0; --j)
                    for (int k = 0; k < graph_[j].arity() && reaches[std::size_t(j)]; ++k)
                        if (passes(graph_[j], k))
                            reaches[std::size_t(graph_[j].argument[std::size_t(k)])] = 1;
                for (std::size_t k = 0; k < inputs_.size(); ++k)
                    if (inputs_[k] >= 0 && inputs_[k] <= i && reaches[std::size_t(inputs_[k])])
                        refused.inputs.push_back(k);
                throw refused;
            }
    }
    Derivation::Form Derivation::asked_of(Op user, int position, Form form)
    {
        switch (user)
        {
        case Op::add:
        case Op::sub:
        case Op::log:
        case Op::routine: return absolute;
        case Op::exp: return relative;
        case Op::pow: return position == 1 ? relative : form;
        default: return form;
        }
    }
    void Derivation::find_wanted()
    {
        for (const int input : inputs_)
            if (is_live(input))
                wanted_[std::size_t(input)][kind_ == Derivative::elasticity ? relative : absolute] = true;
        for (int i = 0; i <= output_; ++i)
            for (const Form form : {relative, absolute})
                for (const Use& use : uses_[std::size_t(i)])
                    if (wanted_[std::size_t(i)][form])
                        wanted_[std::size_t(use.user)][asked_of(graph_[use.user].op, use.position, form)] = true;
    }

    // --- operations that skip terms equal to zero everywhere ---

    int Derivation::sum(int a, int b) { return a == none ? b : b == none ? a : apply(Op::add, a, b); }
    int Derivation::negated(int a) { return a == none ? none : apply(Op::sub, number(0), a); }
    int Derivation::product(int a, int b) { return a == none || b == none ? none : apply(Op::mul, a, b); }
    int Derivation::quotient(int a, int b) { return a == none ? none : apply(Op::div, a, b); }
    int Derivation::chosen(int condition, int a, int b)
    {
        if (a == none && b == none)
            return none;
        const bool truth = graph_[condition].op == Op::less || graph_[condition].op == Op::equal; // 1 or 0
        if (truth && a != none && b == none && is(a, 1))
            return condition;
        if (truth && a == none && is(b, 1))
            return apply(Op::sub, number(1), condition);
        return apply(Op::select, condition, a == none ? number(0) : a, b == none ? number(0) : b);
    }

    // If the output does not depend on a node, its adjoint is 0, but its factor may be infinite or NaN.
    int Derivation::guarded(int user, int adjoint, bool harmless)
    {
        const int active = harmless || adjoint == none ? none : activity(user);
        return active == none ? adjoint : chosen(active, adjoint, none);
    }
    int Derivation::product_in(int user, int adjoint, int factor)
    { return guarded(user, product(adjoint, factor), factor == none || finite(factor)); }
    int Derivation::quotient_in(int user, int adjoint, int divisor)
    { return guarded(user, quotient(adjoint, divisor), finite(divisor) && not_zero(divisor)); }

    int Derivation::activity(int i)
    {
        if (const int known = activity_[std::size_t(i)]; known != unknown)
            return known;
        int active = i == output_ ? none : unknown;
        for (const Use& use : uses_[std::size_t(i)])
            if (active != none)
            {
                const int active_use = active_if(use);
                active = active_use == none || active == unknown ? active_use : apply(Op::either, active, active_use);
            }
        return activity_[std::size_t(i)] = active;
    }
    int Derivation::passed_if(const Use& use)
    {
        const Node n = graph_[use.user];
        const auto [a, b, c] = n.argument;
        if ((n.op == Op::max || n.op == Op::min) && fixed_choice(n) < 0 && a != b)
            return use.position == 0 ? first_is_taken(n) : apply(Op::equal, first_is_taken(n), number(0));
        if (n.op == Op::select)
            return use.position == 1 ? a : apply(Op::equal, a, number(0));
        return none;
    }
    int Derivation::active_if(const Use& use)
    {
        const int passed = passed_if(use), user = activity(use.user);
        return passed == none ? user : user == none ? passed : apply(Op::both, user, passed);
    }

    // --- where values leave their range ---

    int Derivation::settled_by(const Use& use)
    {
        const int passed = passed_if(use);
        const int left_out = passed == none ? Saturation::nowhere : saturation_.negated(passed);
        const int constant =
            saturation_.either(saturation_.of(use.user), saturation_.is_constant(use.user, use.position));
        return saturation_.either(saturation_.either(constant, left_out), settled(use.user));
    }
    int Derivation::settled(int i)
    {
        if (const int known = settled_[std::size_t(i)]; known != unknown)
            return known;
        int by_all = i == output_ ? Saturation::nowhere : Saturation::everywhere;
        for (const Use& use : uses_[std::size_t(i)])
            if (by_all != Saturation::nowhere)
                by_all = saturation_.both(by_all, settled_by(use));
        return settled_[std::size_t(i)] = by_all;
    }
    // 0 where a condition of the saturation holds and the derivative is not finite.
    int Derivation::unless(int constant, int derivative)
    {
        if (derivative == none || constant == Saturation::nowhere || finite(derivative))
            return derivative;
        const int is_finite = apply(Op::equal, apply(Op::sub, derivative, derivative), number(0));
        const int replaced = saturation_.both(constant, saturation_.negated(is_finite));
        return chosen(replaced, none, derivative);
    }

    // --- derivatives of operations ---

    int Derivation::partial(const Node& n, int position)
    {
        return graph_.operation(
            Op::routine,
            n.argument[0],
            n.argument[1],
            n.argument[2],
            n.routine->partials[std::size_t(position)]);
    }
    // y x^(y - 1). At x = 0 the power is 0, 1 or infinite.
    int Derivation::power_slope(int power)
    {
        const auto [x, y, unused] = graph_[power].argument;
        const int inside = apply(Op::mul, y, apply(Op::div, power, x));
        if (not_zero(x))
            return inside;
        const auto less = [&](int a, int b) { return apply(Op::less, a, b); };
        const int zero = number(0), one = number(1);
        const int below_one = apply(
            Op::select,
            less(zero, y),
            number(HUGE_VAL),
            apply(Op::select, less(y, zero), number(-HUGE_VAL), zero));
        const int at_zero = apply(Op::select, less(y, one), below_one, apply(Op::equal, y, one));
        return apply(Op::select, apply(Op::equal, x, zero), at_zero, inside);
    }
    // ln(x) of x^y, which by y has the derivative x^y ln(x): 0 where the power is.
    int Derivation::log_of_base(int power)
    {
        const int inside = apply(Op::log, graph_[power].argument[0]);
        return not_zero(power) ? inside : apply(Op::select, apply(Op::equal, power, number(0)), number(0), inside);
    }

    int Derivation::root(Form form)
    {
        if (kind_ == Derivative::elasticity)
            return form == relative ? number(1) : apply(Op::div, number(1), output_);
        return form == relative ? output_ : number(1);
    }
    int Derivation::contribution(const Use& use, Form form)
    {
        const int given = contribution_in_range(use, form);
        return at_limits_ && given != none && !finite(given) ? unless(settled_by(use), given) : given;
    }
    int Derivation::contribution_in_range(const Use& use, Form form)
    {
        const int u = use.user;
        const Node n = graph_[u];
        const int x = n.argument[std::size_t(use.position)], other = n.argument[use.position == 0 ? 1 : 0];
        const int of_user = adjoint(u, asked_of(n.op, use.position, form));
        switch (n.op)
        {
        case Op::add: return form == absolute ? of_user : product_in(u, of_user, x);
        case Op::sub:
        {
            const int given = form == absolute ? of_user : product_in(u, of_user, x);
            return use.position == 0 ? given : negated(given);
        }
        case Op::neg: return form == relative ? of_user : negated(of_user);
        case Op::mul: return form == relative ? of_user : product_in(u, of_user, other);
        case Op::div:
            if (use.position == 0)
                return form == relative ? of_user : quotient_in(u, of_user, other);
            return negated(form == relative ? of_user : quotient_in(u, product_in(u, of_user, u), x));
        case Op::max:
        case Op::min:
            if (fixed_choice(n) >= 0 || x == other)
                return of_user;
            return use.position == 0
                ? chosen(first_is_taken(n), of_user, none)
                : chosen(first_is_taken(n), none, of_user);
        case Op::select:
            return use.position == 1 ? chosen(n.argument[0], of_user, none) : chosen(n.argument[0], none, of_user);
        case Op::exp: return form == absolute ? of_user : product_in(u, of_user, x);
        case Op::log: return form == relative ? of_user : quotient_in(u, of_user, x);
        case Op::sqrt:
            return form == relative ? product(of_user, number(0.5)) : quotient_in(u, product(of_user, number(0.5)), u);
        case Op::pow:
            if (use.position == 0)
                return product_in(u, of_user, form == relative ? other : power_slope(u));
            return product_in(u, of_user, form == relative ? product(x, log_of_base(u)) : log_of_base(u));
        case Op::routine:
        {
            const int given = product_in(u, of_user, partial(n, use.position));
            return form == absolute ? given : product_in(u, given, x);
        }
        default: return none;
        }
    }
    // NaN where the output has no such derivative, by whatever input; no zero is negative.
    int Derivation::finished(int derivative)
    {
        if (derivative == none)
            derivative = number(0);
        const bool by_ratio = kind_ == Derivative::elasticity;
        if (!finite(output_) || (by_ratio && !not_zero(output_)))
            derivative = by_ratio
                ? apply(Op::mul, derivative, apply(Op::div, output_, output_))
                : apply(Op::add, derivative, apply(Op::sub, output_, output_));
        const Node& n = graph_[derivative];
        const bool positive_zero = n.is_literal() || n.op == Op::less || n.op == Op::equal
            || (n.op == Op::sub && graph_[n.argument[0]].is_literal());
        return positive_zero || not_zero(derivative) ? derivative : apply(Op::add, derivative, number(0));
    }

    bool Derivation::are_finite(const std::vector<int>& derivatives)
    {
        return std::all_of(derivatives.begin(), derivatives.end(), [this](int node) { return finite(node); });
    }

    // --- kinks: the chain rule in forward direction, with one-sided values at a point ---

    int Derivation::tangent_of_turn(const Node& n, int a, int b, Side side)
    {
        if (a == none && b == none)
            return none;
        const int zero = number(0), left = a == none ? zero : a, right = b == none ? zero : b;
        const bool largest = (n.op == Op::max) == (side == Side::above);
        const int extreme = apply(largest ? Op::max : Op::min, left, right);
        return apply(
            Op::select,
            first_is_taken(n),
            left,
            apply(Op::select, apply(Op::equal, n.argument[0], n.argument[1]), extreme, right));
    }
    // Half of the second derivative. An argument of a root that has value and slope 0 grows with it.
    int Derivation::curvature(int i, const Direction& direction)
    {
        const auto slope = [&](int k) {
            return k >= 0 && live_[std::size_t(k)] ? direction.slope[std::size_t(k)] : none;
        };
        if (slope(i) == none || i == direction.input)
            return none;
        if (const int known = direction.curvature[std::size_t(i)]; known != unknown)
            return known;
        const Node n = graph_[i];
        const auto [a, b, c] = n.argument;
        const auto bend = [&](int k) { return curvature(k, direction); };
        const auto half_square = [&](int k) { return product(product(number(0.5), k), k); };
        int result = number(NAN);
        switch (n.op)
        {
        case Op::add: result = sum(bend(a), bend(b)); break;
        case Op::sub: result = sum(bend(a), negated(bend(b))); break;
        case Op::neg: result = negated(bend(a)); break;
        case Op::mul: result = sum(sum(product(bend(a), b), product(bend(b), a)), product(slope(a), slope(b))); break;
        case Op::div:
            result = quotient(sum(bend(a), negated(sum(product(slope(i), slope(b)), product(i, bend(b))))), b);
            break;
        case Op::max:
        case Op::min: result = a == b ? bend(a) : chosen(first_is_taken(n), bend(a), bend(b)); break;
        case Op::select: result = chosen(a, bend(b), bend(c)); break;
        case Op::exp: result = product(i, sum(bend(a), half_square(slope(a)))); break;
        case Op::log: result = sum(quotient(bend(a), a), negated(half_square(slope(i)))); break;
        default: break; // unknown
        }
        return direction.curvature[std::size_t(i)] = result;
    }
    int Derivation::tangent_of_root(int i, int slope, const Direction& direction, Side side)
    {
        const int plain = quotient(product(slope, number(0.5)), i);
        if (plain == none || !may_turn(i))
            return plain;
        const int bend = curvature(graph_[i].argument[0], direction);
        const int root = bend == none ? number(0) : apply(Op::sqrt, bend), zero = number(0);
        const int at_zero = side == Side::above ? root : negated(root);
        return chosen(apply(Op::both, apply(Op::equal, i, zero), apply(Op::equal, slope, zero)), at_zero, plain);
    }
    int Derivation::tangent(int i, const Direction& direction, Side side)
    {
        const int given = tangent_in_range(i, direction, side);
        return at_limits_ ? unless(saturation_.of(i), given) : given;
    }
    int Derivation::tangent_in_range(int i, const Direction& direction, Side side)
    {
        const Node n = graph_[i];
        const auto given = [&](int position) {
            return n.argument[std::size_t(position)] >= 0 && passes(n, position)
                ? direction.slope[std::size_t(n.argument[std::size_t(position)])]
                : none;
        };
        const int a = n.argument[0], b = n.argument[1], da = given(0), db = given(1);
        switch (n.op)
        {
        case Op::add: return sum(da, db);
        case Op::sub: return sum(da, negated(db));
        case Op::neg: return negated(da);
        case Op::mul: return sum(product(da, b), product(db, a));
        case Op::div: return quotient(sum(da, negated(product(db, i))), b);
        case Op::max:
        case Op::min: return a == b || fixed_choice(n) >= 0 ? sum(da, db) : tangent_of_turn(n, da, db, side);
        case Op::select: return chosen(a, db, given(2));
        case Op::exp: return product(da, i);
        case Op::log: return quotient(da, a);
        case Op::sqrt: return tangent_of_root(i, da, direction, side);
        case Op::pow:
            return sum(
                da == none ? none : product(da, power_slope(i)),
                db == none ? none : product(product(db, i), log_of_base(i)));
        case Op::routine:
        {
            int total = none;
            for (int k = 0; k < n.arity(); ++k)
                if (given(k) != none)
                    total = sum(total, product(given(k), partial(n, k)));
            return total;
        }
        default: return none;
        }
    }
    int Derivation::any(const std::vector<int>& nodes)
    {
        int all = none;
        for (const int n : nodes)
            all = all == none ? n : apply(Op::either, all, n);
        return all;
    }
    std::vector<int> Derivation::one_sided(Side side)
    {
        std::vector<int> where;
        for (const Kink& kink : kinks_)
            where.push_back(kink.where);
        const int at_kink = any(where);
        std::vector<int> result = smooth_;
        for (std::size_t k = 0; k < inputs_.size() && at_kink != none; ++k)
        {
            const int input = inputs_[k];
            if (!is_live(input))
                continue;
            Direction direction{input, std::vector<int>(live_.size(), none), std::vector<int>(live_.size(), unknown)};
            direction.slope[std::size_t(input)] = number(1);
            for (int i = input + 1; i <= output_; ++i)
                if (live_[std::size_t(i)])
                    direction.slope[std::size_t(i)] = tangent(i, direction, side);
            int derivative = direction.slope[std::size_t(output_)];
            if (kind_ == Derivative::elasticity)
                derivative = quotient(product(derivative, input), output_);
            result[k] = apply(Op::select, at_kink, finished(derivative), smooth_[k]);
        }
        return result;
    }
    std::vector<Kink> Derivation::sharp_kinks()
    {
        const std::vector<int> above = one_sided(Side::above), below = one_sided(Side::below);
        std::vector<int> unequal;
        for (std::size_t k = 0; k < inputs_.size(); ++k)
            if (above[k] != below[k])
                unequal.push_back(apply(Op::equal, apply(Op::equal, above[k], below[k]), number(0)));
        std::vector<Kink> sharp;
        if (const int differ = any(unequal); differ != none)
            for (const Kink& kink : kinks_)
                sharp.push_back({kink.node, apply(Op::both, kink.where, differ)});
        return sharp;
    }

    namespace
    {
        Requirement holds(Graph& graph, int condition) { return {graph.constant(0), condition, true}; }
        std::int64_t points_where(Graph& graph, int condition, AxisSet axes, const Options& options)
        {
            if (graph[condition].is_constant())
                return graph[condition].value != 0 ? std::int64_t(graph.points(axes)) : 0;
            const bool short_axes = std::all_of(graph.shape().begin(), graph.shape().end(), [](std::size_t n) {
                return n <= most_searched_values;
            });
            return count({graph, {}, {holds(graph, condition)}, axes}, options, short_axes).front();
        }
        // Is it so anywhere? Equal arguments that go one way along a row are found by bisection.
        bool anywhere(Graph& graph, const Kink& kink, const Options& options)
        {
            if (graph[kink.where].is_constant())
                return graph[kink.where].value != 0;
            const Node n = graph[kink.node];
            const int a = n.argument[0], b = n.op == Op::sqrt ? graph.constant(0) : n.argument[1];
            Question question{graph, {graph.constant(0)}, {{a, b, false}, {b, a, false}}, AxisSet(-1)};
            if (graph[kink.where].op == Op::both) // the output does not depend on it everywhere
                question.requirements.push_back(holds(graph, kink.where));
            return best(question, options, false).where.front() != nowhere;
        }
    }
    Derivatives differentiate(
        Graph& graph,
        int output,
        const std::vector<int>& inputs,
        Derivative kind,
        Side side,
        const Options& options,
        bool at_limits)
    {
        Derivation derivation(graph, output, inputs, kind, at_limits);
        const std::vector<Kink>& kinks = derivation.kinks();
        if (std::none_of(kinks.begin(), kinks.end(), [&](const Kink& kink) { return anywhere(graph, kink, options); }))
            return {derivation.smooth(), {}, derivation.are_finite(derivation.smooth())};
        Derivatives result{derivation.one_sided(side), {}, false};
        result.finite = derivation.are_finite(result.nodes);
        for (const Kink& kink : derivation.sharp_kinks())
            if (const std::int64_t points = points_where(graph, kink.where, graph[output].axes, options); points > 0)
                result.kinks.push_back({kink.node, points});
        return result;
    }
}
