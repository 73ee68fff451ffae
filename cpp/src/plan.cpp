#include <roofslate/plan.hpp>
#include <roofslate/registry.hpp>
#include <algorithm>
#include <cstdlib>
#include <new>

namespace roofslate
{
    namespace
    {
        constexpr std::size_t shortest_row = 256;        // points; shorter rows are joined over several axes
        constexpr std::size_t most_kept_values = 131072; // larger intermediates are computed again where they are used
        constexpr std::size_t most_copied_values = 1u << 21;

        // Work of an operation a point, in units of an addition.
        int weight(const Node& n, bool divisor_on_row)
        {
            switch (n.op)
            {
            case Op::add:
            case Op::sub:
            case Op::mul:
            case Op::neg:
            case Op::min:
            case Op::max: return 1;
            case Op::div: return divisor_on_row ? 8 : 3;
            case Op::sqrt: return 8;
            case Op::exp:
            case Op::log: return 25;
            case Op::pow: return 80;
            case Op::routine: return 500;
            default: return 4;
            }
        }

        class PassPlanner
        {
        public:
            PassPlanner(const Graph& graph, const std::vector<Range>& ranges, const InstructionSet& set, const std::vector<Output>& outputs, AxisSet axes) : graph_(graph), ranges_(ranges), set_(set)
            {
                pass_.axes = axes, pass_.outputs = outputs;
                std::stable_sort(pass_.outputs.begin(), pass_.outputs.end(), [](const Output& a, const Output& b) { return a.node < b.node; });
                lay_out();
                find_kept();
            }
            const std::vector<int>& kept() const { return kept_; }

            Pass compile(const std::vector<const View*>& kept_views)
            {
                kept_views_ = &kept_views;
                value_of_.assign(std::size_t(graph_.size()), -1);
                array_of_.assign(std::size_t(graph_.size()), -1);
                strip_of_.assign(std::size_t(graph_.size()), -1);
                count_uses();
                for (const Output& o : pass_.outputs)
                {
                    bring(o.node);
                    push(Code::write);
                    pass_.writes.push_back(int(pass_.program.size()) - 1);
                    if (!is_array(o.node))
                        used(o.node);
                }
                push(Code::end);
                order_steps();
                return std::move(pass_);
            }

        private:
            const Node& node(int i) const { return graph_[i]; }
            bool on_row(int i) const { return (node(i).axes & row_axes_) != 0; }

            // The row runs over the innermost axis in memory, or over several where that is short and all results run on evenly.
            void lay_out()
            {
                const Output& first = pass_.outputs.front();
                std::vector<int> order;
                for (int k = 0; k < int(graph_.shape().size()); ++k)
                    if (pass_.axes >> k & 1)
                        order.push_back(k);
                std::stable_sort(order.begin(), order.end(), [&](int a, int b) { return std::abs(first.stride[std::size_t(a)]) > std::abs(first.stride[std::size_t(b)]); });
                const auto length = [&](int k) { return graph_.shape()[std::size_t(k)]; };
                std::size_t inner = order.empty() ? 0 : 1;
                std::size_t row = order.empty() ? 1 : length(order.back());
                while (inner < order.size() && row < shortest_row)
                {
                    const int next = order[order.size() - 1 - inner];
                    if (!all_run_on(next, order.back(), row) || !copies_fit(order, inner + 1))
                        break;
                    row *= length(next), ++inner;
                }
                pass_.outer.assign(order.begin(), order.end() - std::ptrdiff_t(inner));
                pass_.inner.assign(order.end() - std::ptrdiff_t(inner), order.end());
                pass_.row = row;
                for (const int k : pass_.outer)
                    pass_.rows *= length(k);
                for (const int k : pass_.inner)
                    row_axes_ |= AxisSet(1) << k;
            }
            bool all_run_on(int next, int last, std::size_t row) const
            {
                return std::all_of(pass_.outputs.begin(), pass_.outputs.end(), [&](const Output& o) { return o.stride[std::size_t(last)] == 1 && o.stride[std::size_t(next)] == std::ptrdiff_t(row); });
            }
            bool copies_fit(const std::vector<int>& order, std::size_t inner) const // of supplied arrays that would be spread along the row
            {
                AxisSet joined = 0;
                for (std::size_t k = order.size() - inner; k < order.size(); ++k)
                    joined |= AxisSet(1) << order[k];
                std::size_t most = 0;
                for (int i = 0; i < graph_.size(); ++i)
                    if (node(i).is_leaf() && (node(i).axes & joined) && (node(i).axes & ~pass_.axes) == 0)
                        most = std::max(most, graph_.points(node(i).axes | joined));
                return most <= most_copied_values;
            }

            // Loops that a value depends on: the number of the innermost one, from 1; 0: none.
            std::size_t depth(AxisSet axes) const
            {
                for (std::size_t d = pass_.outer.size(); d > 0; --d)
                    if (axes >> pass_.outer[d - 1] & 1)
                        return d;
                return 0;
            }
            std::size_t evaluations(AxisSet axes) const // if it were computed in this pass
            {
                if (axes & row_axes_)
                    return pass_.rows * pass_.row;
                std::size_t n = 1;
                for (std::size_t d = 0; d < depth(axes); ++d)
                    n *= graph_.shape()[std::size_t(pass_.outer[d])];
                return n;
            }
            int cost(int i, AxisSet axes, std::vector<char>& counted) const // of the node and what it needs on the same axes
            {
                const Node& n = node(i);
                if (n.axes != axes || n.is_leaf() || counted[std::size_t(i)])
                    return 0;
                counted[std::size_t(i)] = 1;
                int c = weight(n, n.op == Op::div && on_row(n.argument[1]));
                for (int k = 0; k < n.arity(); ++k)
                    c += cost(n.argument[std::size_t(k)], axes, counted);
                return c;
            }
            // Is a value with fewer axes cheaper to compute once and read than to compute again?
            bool worth_keeping(int i) const
            {
                const AxisSet axes = node(i).axes;
                const std::size_t own = graph_.points(axes), here = evaluations(axes);
                if (own > most_kept_values || here < 2 * own)
                    return false;
                std::vector<char> counted(std::size_t(graph_.size()), 0);
                const int c = cost(i, axes, counted);
                const bool spread = pass_.inner.size() > 1;
                return c >= (on_row(i) ? (spread ? 8 : 3) : 20);
            }
            void find_kept()
            {
                std::vector<char> seen(std::size_t(graph_.size()), 0);
                std::vector<int> work;
                for (const Output& o : pass_.outputs)
                    work.push_back(o.node);
                while (!work.empty())
                {
                    const int i = work.back();
                    work.pop_back();
                    if (seen[std::size_t(i)]++ || node(i).is_constant() || node(i).is_leaf())
                        continue;
                    if (node(i).axes != pass_.axes && worth_keeping(i))
                    {
                        kept_.push_back(i);
                        continue;
                    }
                    for (int k = 0; k < node(i).arity(); ++k)
                        work.push_back(node(i).argument[std::size_t(k)]);
                }
                std::sort(kept_.begin(), kept_.end());
            }
            bool is_kept(int i) const { return std::binary_search(kept_.begin(), kept_.end(), i); }
            bool is_array(int i) const { return node(i).is_leaf() || is_kept(i); }

            void count_uses()
            {
                uses_.assign(std::size_t(graph_.size()), 0);
                std::vector<char> seen(std::size_t(graph_.size()), 0);
                std::vector<int> work;
                for (const Output& o : pass_.outputs)
                {
                    work.push_back(o.node);
                    ++uses_[std::size_t(o.node)];
                }
                while (!work.empty())
                {
                    const int i = work.back();
                    work.pop_back();
                    if (seen[std::size_t(i)]++ || !on_row(i) || is_array(i))
                        continue;
                    for (int k = 0; k < node(i).arity(); ++k)
                    {
                        ++uses_[std::size_t(node(i).argument[std::size_t(k)])];
                        work.push_back(node(i).argument[std::size_t(k)]);
                    }
                }
            }

            // --- values of a row ---

            int value_of(int i)
            {
                int& number = value_of_[std::size_t(i)];
                if (number >= 0)
                    return number;
                ScalarStep s;
                s.op = node(i).op;
                if (is_kept(i))
                    s.op = Op::input, s.view = *(*kept_views_)[std::size_t(i)];
                else if (node(i).is_leaf())
                    s.view = graph_.view(node(i));
                else
                {
                    s.routine = node(i).routine;
                    for (int k = 0; k < node(i).arity(); ++k)
                        s.argument[std::size_t(k)] = value_of(node(i).argument[std::size_t(k)]);
                }
                number = s.result = int(steps_.size());
                s.constant = node(i).value;
                steps_.push_back({s, depth(node(i).axes)});
                return number;
            }
            void order_steps()
            {
                std::stable_sort(steps_.begin(), steps_.end(), [](const Step& a, const Step& b) { return a.depth < b.depth; });
                pass_.values = int(steps_.size());
                pass_.first_step.assign(pass_.outer.size() + 1, steps_.size());
                for (std::size_t k = steps_.size(); k-- > 0;)
                    for (std::size_t d = 0; d <= steps_[k].depth; ++d)
                        pass_.first_step[d] = k;
                for (const Step& s : steps_)
                    pass_.steps.push_back(s.step);
            }

            // --- the program ---

            Instruction& push(Code code)
            {
                pass_.program.emplace_back();
                pass_.program.back().code = code;
                return pass_.program.back();
            }
            void refer(bool second, Source source, int number) { pass_.references.push_back({int(pass_.program.size()) - 1, second, source, number}); }
            int array_of(int i)
            {
                int& number = array_of_[std::size_t(i)];
                if (number < 0)
                {
                    number = int(pass_.arrays.size());
                    Row r;
                    r.view = is_kept(i) ? *(*kept_views_)[std::size_t(i)] : graph_.view(node(i));
                    const int last = pass_.inner.back();
                    r.step = r.view.stride[std::size_t(last)];
                    std::ptrdiff_t length = r.step;
                    for (std::size_t k = pass_.inner.size(); k-- > 0 && pass_.inner.size() > 1;)
                    {
                        r.expand = r.expand || r.view.stride[std::size_t(pass_.inner[k])] != length;
                        length *= std::ptrdiff_t(graph_.shape()[std::size_t(pass_.inner[k])]);
                    }
                    pass_.arrays.push_back(r);
                }
                return number;
            }
            // Fills the operand of the instruction pushed last with a value that is at hand.
            void operand(int i, bool second = false)
            {
                Operand& o = second ? pass_.program.back().second : pass_.program.back().operand;
                if (!on_row(i))
                {
                    if (node(i).is_constant())
                        o.scalar = node(i).value;
                    else
                        refer(second, Source::scalar, value_of(i));
                }
                else if (is_array(i))
                    refer(second, Source::row, array_of(i));
                else
                {
                    refer(second, Source::strip, strip_of_[std::size_t(i)]);
                    used(i);
                }
            }
            void used(int i)
            {
                if (--uses_[std::size_t(i)] == 0 && strip_of_[std::size_t(i)] >= 0)
                    free_strips_.push_back(strip_of_[std::size_t(i)]);
            }
            bool at_hand(int i) const { return !on_row(i) || is_array(i) || strip_of_[std::size_t(i)] >= 0; }
            void save(int i)
            {
                if (strip_of_[std::size_t(i)] >= 0)
                    return;
                if (free_strips_.empty())
                    free_strips_.push_back(pass_.strips++);
                strip_of_[std::size_t(i)] = free_strips_.back();
                free_strips_.pop_back();
                push(Code::save);
                refer(false, Source::strip, strip_of_[std::size_t(i)]);
            }
            // Makes the node the running value.
            void bring(int i)
            {
                if (running_ == i)
                    return;
                if (at_hand(i))
                {
                    const bool strip = on_row(i) && !is_array(i);
                    push(Code::load);
                    if (strip)
                        ++uses_[std::size_t(i)]; // a load is no use of its own
                    operand(i);
                }
                else
                    compute(i);
                running_ = i;
            }
            void make_at_hand(int i)
            {
                if (at_hand(i))
                    return;
                bring(i);
                save(i);
            }
            void compute(int i)
            {
                const Node& n = node(i);
                // The running value is the argument that is not yet at hand, the one that runs already, or else the first on the row.
                const int arity = n.arity();
                int place = -1;
                if (n.op == Op::select)
                    place = 0;
                for (int k = 0; k < arity && place < 0; ++k)
                    if (n.argument[std::size_t(k)] == running_ && others_at_hand(n, k))
                        place = k;
                for (int k = arity; k-- > 0 && place < 0;)
                    if (!at_hand(n.argument[std::size_t(k)]))
                        place = k;
                for (int k = 0; k < arity && place < 0; ++k)
                    if (on_row(n.argument[std::size_t(k)]))
                        place = k;
                for (int k = 0; k < arity; ++k)
                    if (k != place)
                        make_at_hand(n.argument[std::size_t(k)]);
                const int value = n.argument[std::size_t(place)];
                bring(value);
                emit(i, place);
                if (on_row(value) && !is_array(value))
                    used(value);
                running_ = i;
                if (uses_[std::size_t(i)] > 1)
                    save(i);
            }
            bool others_at_hand(const Node& n, int place) const
            {
                for (int k = 0; k < n.arity(); ++k)
                    if (k != place && !at_hand(n.argument[std::size_t(k)]))
                        return false;
                return true;
            }
            bool ordered(int i) const { return ranges_[std::size_t(i)].known(); }
            bool no_check_of_order(const Node& n) const
            {
                return ordered(n.argument[0]) && ordered(n.argument[1]) && (!ranges_[std::size_t(n.argument[0])].holds_zero() || !ranges_[std::size_t(n.argument[1])].holds_zero());
            }
            bool no_check_of_quotient(int i) const
            {
                const Range &d = ranges_[std::size_t(node(i).argument[1])], &q = ranges_[std::size_t(i)];
                return d.low > 1e-100 && d.high < 1e100 && q.low > 1e-200 && q.high < 1e200;
            }
            void emit(int i, int place)
            {
                const Node& n = node(i);
                const int other = n.arity() == 2 ? n.argument[std::size_t(1 - place)] : -1;
                const auto binary = [&](Code code) { push(code), operand(other); };
                switch (n.op)
                {
                case Op::add: return binary(Code::add);
                case Op::mul: return binary(Code::multiply);
                case Op::sub: return binary(place == 0 ? Code::subtract : Code::subtract_from);
                case Op::max: return binary(no_check_of_order(n) ? Code::maximum_proved : place == 0 ? Code::maximum : Code::maximum_of);
                case Op::min: return binary(no_check_of_order(n) ? Code::minimum_proved : place == 0 ? Code::minimum : Code::minimum_of);
                case Op::div:
                    if (place == 1)
                        return binary(Code::divide_into);
                    if (on_row(other) || !set_.fused)
                        return binary(Code::divide);
                    binary(no_check_of_quotient(i) ? Code::divide_proved : Code::divide_constant);
                    if (node(other).is_constant())
                        pass_.program.back().second.scalar = reciprocal(node(other).value);
                    else
                        refer(true, Source::reciprocal, value_of(other));
                    return;
                case Op::select:
                    push(Code::choose);
                    operand(n.argument[1]);
                    operand(n.argument[2], true);
                    return;
                default:
                {
                    Instruction& call = push(Code::call);
                    call.op = std::uint8_t(n.op), call.place = std::uint8_t(place), call.routine = n.routine;
                    bool second = false;
                    for (int k = 0; k < n.arity(); ++k)
                        if (k != place)
                            operand(n.argument[std::size_t(k)], second), second = true;
                    pass_.has_routine = pass_.has_routine || n.routine;
                }
                }
            }

            struct Step
            {
                ScalarStep step;
                std::size_t depth;
            };
            const Graph& graph_;
            const std::vector<Range>& ranges_;
            const InstructionSet& set_;
            Pass pass_;
            AxisSet row_axes_ = 0;
            std::vector<int> kept_;
            const std::vector<const View*>* kept_views_ = nullptr;
            std::vector<int> value_of_, array_of_, strip_of_, uses_, free_strips_;
            std::vector<Step> steps_;
            int running_ = -1;
        };
    }

    std::shared_ptr<double[]> aligned_doubles(std::size_t n)
    {
        constexpr std::align_val_t line{64};
        return {static_cast<double*>(::operator new(std::max<std::size_t>(n, 1) * sizeof(double), line)), [](double* p) { ::operator delete(p, line); }};
    }
    double reciprocal(double divisor)
    {
        const double size = std::fabs(divisor);
        return size > 1e-100 && size < 1e100 ? 1.0 / divisor : 0.0;
    }
    std::vector<int> memory_order(const Graph& graph, AxisSet axes)
    {
        std::vector<int> order;
        for (int k = 0; k < int(graph.shape().size()); ++k)
            if (axes >> k & 1)
                order.push_back(k);
        const auto length = [&](int k) { return graph.shape()[std::size_t(k)]; };
        if (order.empty() || length(order.back()) >= shortest_row)
            return order;
        const auto longest = std::max_element(order.begin(), order.end(), [&](int a, int b) { return length(a) <= length(b); });
        if (length(*longest) >= shortest_row)
            std::rotate(longest, longest + 1, order.end());
        return order;
    }

    Plan make_plan(const Graph& graph, const std::vector<Output>& outputs, const InstructionSet& set)
    {
        Plan plan;
        std::vector<Output> open;
        for (const Output& o : outputs)
            (graph[o.node].axes ? open : plan.constants).push_back(o);
        const std::vector<Range> bounds = open.empty() ? std::vector<Range>{} : ranges(graph);
        std::vector<View> views(static_cast<std::size_t>(graph.size()));
        std::vector<const View*> kept_views(static_cast<std::size_t>(graph.size()), nullptr);
        // Most axes first: what a pass keeps becomes an output of a pass with fewer axes, which runs earlier.
        while (!open.empty())
        {
            const auto axis_count = [](AxisSet a) { return __builtin_popcount(a); };
            const AxisSet axes = graph[std::max_element(open.begin(), open.end(), [&](const Output& a, const Output& b) { return axis_count(graph[a.node].axes) < axis_count(graph[b.node].axes); })->node].axes;
            const auto rest = std::stable_partition(open.begin(), open.end(), [&](const Output& o) { return graph[o.node].axes != axes; });
            PassPlanner planner(graph, bounds, set, {rest, open.end()}, axes);
            open.erase(rest, open.end());
            for (const int node : planner.kept())
            {
                View& view = views[std::size_t(node)];
                if (view.data)
                    continue;
                const AxisSet own = graph[node].axes;
                plan.kept.push_back(aligned_doubles(graph.points(own)));
                Output o{node, plan.kept.back().get(), {}, true};
                std::ptrdiff_t stride = 1;
                const std::vector<int> order = memory_order(graph, own);
                for (auto k = order.rbegin(); k != order.rend(); ++k)
                {
                    o.stride[std::size_t(*k)] = stride;
                    stride *= std::ptrdiff_t(graph.shape()[std::size_t(*k)]);
                }
                view = {o.data, own, o.stride};
                kept_views[std::size_t(node)] = &view;
                open.push_back(o);
            }
            plan.passes.push_back(planner.compile(kept_views));
        }
        std::reverse(plan.passes.begin(), plan.passes.end());
        return plan;
    }
}
