#include <roofslate/plan.hpp>
#include <roofslate/growth.hpp>
#include <roofslate/registry.hpp>
#include <algorithm>
#include <cstdlib>
#include <new>
#include <optional>

namespace roofslate
{
    namespace
    {
        constexpr std::size_t shortest_row = 128;        // points; shorter rows are joined over several axes
        constexpr std::size_t most_kept_values = 131072; // larger intermediates are computed again where they are used
        constexpr std::size_t most_row_values = 8192;    // of an intermediate that is kept for all rows of a pass
        constexpr std::size_t least_saved_work = 24000;  // in additions: what a pass of its own costs
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
            PassPlanner(const Graph& graph, const List<Range>& ranges, const InstructionSet& set, Arena* arena, const List<Output>& outputs, AxisSet axes) : PassPlanner(graph, ranges, set, arena, outputs)
            {
                pass_.axes = axes;
                lay_out();
                find_kept();
            }
            // The pass that computes, once for all rows of `main`, what depends on the row alone.
            PassPlanner(const PassPlanner& main, Arena* arena, const List<Output>& outputs) : PassPlanner(main.graph_, main.ranges_, main.set_, arena, outputs)
            {
                pass_.axes = row_axes_ = main.row_axes_;
                pass_.inner = main.pass_.inner, pass_.row = main.pass_.row;
                find_kept();
            }
            PassPlanner(const Graph& graph, const List<Range>& ranges, const InstructionSet& set, Arena* arena, const FoldPass& fold) : PassPlanner(graph, ranges, set, arena, List<Output>(arena))
            {
                pass_.outer.assign(fold.outer.begin(), fold.outer.end());
                pass_.inner.push_back(fold.inner);
                pass_.row = graph.shape()[std::size_t(fold.inner)];
                row_axes_ = AxisSet(1) << fold.inner;
                pass_.axes = row_axes_;
                for (const int k : fold.outer)
                    pass_.rows *= graph.shape()[std::size_t(k)], pass_.axes |= AxisSet(1) << k;
                for (const Requirement& r : fold.requirements)
                    if (!is_stretch(r.left, r.right))
                        roots_.push_back(r.left), roots_.push_back(r.right);
                roots_.push_back(fold.objective);
                find_kept();
            }
            const List<int>& kept() const { return kept_; }             // to be computed in passes of their own
            const List<int>& kept_rows() const { return kept_rows_; }   // to be computed by the pass before this one
            std::size_t row() const { return pass_.row; }
            int last_axis() const { return pass_.inner.back(); }
            void set_kept_rows(const List<Output>& rows) { rows_ = rows; }

            Pass compile(const List<const View*>& kept_views)
            {
                kept_views_ = &kept_views;
                count_uses();
                for (const Output& o : pass_.outputs)
                {
                    bring(o.node);
                    push(Code::write).op = o.single != nullptr;
                    pass_.writes.push_back(int(pass_.program.size()) - 1);
                    if (!is_array(o.node))
                        used(o.node);
                }
                push(Code::end);
                order_steps();
                return std::move(pass_);
            }
            Pass compile(const List<const View*>& kept_views, const FoldPass& fold)
            {
                kept_views_ = &kept_views;
                count_uses();
                int met = -1;
                for (const auto& [left, right, strict] : fold.requirements)
                {
                    if (is_stretch(left, right))
                        continue;
                    const bool first = met < 0;
                    if (first)
                        met = pass_.strips++;
                    const bool left_runs = on_row(left) || !on_row(right);
                    make_at_hand(left_runs ? right : left);
                    bring(left_runs ? left : right);
                    push(left_runs ? strict ? Code::require_less : Code::require_at_most : strict ? Code::require_more
                                                                                                  : Code::require_at_least)
                        .op = !first;
                    operand(left_runs ? right : left);
                    refer(Field::result, Source::strip, met);
                    if (const int ran = left_runs ? left : right; on_row(ran) && !is_array(ran))
                        used(ran);
                }
                for (const Requirement& r : fold.requirements)
                    if (is_stretch(r.left, r.right))
                        add_stretch(r);
                if (met < 0 && fold.block_axis >= 0)
                {
                    pass_.direction = direction(graph_, ranges_, fold.objective, fold.block_axis);
                    pass_.bound_share = pass_.direction == 0 ? 1 : ranges_[std::size_t(fold.objective)].low > 0 ? 1 - growth_slack
                                                                                                                : 1 + growth_slack;
                    pass_.has_bounds = pass_.direction != 0 || aim(fold.objective, 1, fold.block_axis);
                }
                bring(fold.objective);
                pass_.fold = int(pass_.program.size());
                push(Code::keep);
                if (met >= 0)
                    refer(Field::second, Source::strip, met);
                push(Code::end);
                order_steps();
                return std::move(pass_);
            }

        private:
            PassPlanner(const Graph& graph, const List<Range>& ranges, const InstructionSet& set, Arena* arena, const List<Output>& outputs)
                : graph_(graph), ranges_(ranges), set_(set), pass_(arena), roots_(arena), kept_(arena), kept_rows_(arena), rows_(arena), records_(std::size_t(graph.size()), arena), work_(arena), free_strips_(arena), steps_(arena)
            {
                pass_.outputs = outputs;
                pass_.program.reserve(32), pass_.references.reserve(32), pass_.arrays.reserve(16), steps_.reserve(32), work_.reserve(64);
                std::stable_sort(pass_.outputs.begin(), pass_.outputs.end(), [](const Output& a, const Output& b) { return a.node < b.node; });
                for (const Output& o : pass_.outputs)
                    roots_.push_back(o.node);
            }

            const Node& node(int i) const { return graph_[i]; }
            bool on_row(int i) const { return (node(i).axes & row_axes_) != 0; }

            // The row runs over the innermost axis in memory, or over several where that is short and all results run on evenly.
            void lay_out()
            {
                const Output& first = pass_.outputs.front();
                List<int> order(pass_.outer.get_allocator());
                for (int k = 0; k < int(graph_.shape().size()); ++k)
                    if ((pass_.axes >> k & 1) && graph_.shape()[std::size_t(k)] > 1)
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
            bool copies_fit(const List<int>& order, std::size_t inner) const // of supplied arrays that would be spread along the row
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
            // Work of a node and of what it needs on the same axes, or on some of them.
            int cost(int i, AxisSet axes, bool some, int walk)
            {
                const Node& n = node(i);
                if ((some ? (n.axes & ~axes) != 0 || !n.axes : n.axes != axes) || n.is_leaf() || of(i).counted == walk)
                    return 0;
                of(i).counted = walk;
                int c = weight(n, n.op == Op::div && on_row(n.argument[1]));
                for (int k = 0; k < n.arity(); ++k)
                    c += cost(n.argument[std::size_t(k)], axes, some, walk);
                return c;
            }
            int cost(int i, bool some) { return cost(i, some ? row_axes_ : node(i).axes, some, ++walks_); }
            // Is a value with fewer axes cheaper to compute once and read than to compute again?
            bool worth_keeping(int i)
            {
                const AxisSet axes = node(i).axes;
                const std::size_t own = graph_.points(axes), here = evaluations(axes);
                if (axes == pass_.axes || own > most_kept_values || here < 2 * own)
                    return false;
                const int c = cost(i, false), least = !on_row(i) ? 20 : pass_.inner.size() > 1 ? 8
                                                                                               : 3;
                return c >= least && std::size_t(c) * (here - own) >= least_saved_work;
            }
            bool worth_a_row(int i)
            {
                constexpr int least = 2; // more than to read it
                return pass_.rows > 1 && pass_.row <= most_row_values && on_row(i) && (node(i).axes & ~row_axes_) == 0 && (of(i).divides || cost(i, true) >= least);
            }
            void begin_walk() { walk_ = ++walks_; }
            int next_of_walk() // -1: it has been there
            {
                const int i = work_.back();
                work_.pop_back();
                if (of(i).seen == walk_)
                    return -1;
                of(i).seen = walk_;
                return i;
            }
            void find_kept()
            {
                begin_walk();
                work_ = roots_;
                while (!work_.empty())
                {
                    const int i = next_of_walk();
                    if (i < 0 || node(i).is_constant() || node(i).is_leaf())
                        continue;
                    if (worth_a_row(i))
                        kept_rows_.push_back(i);
                    else if (worth_keeping(i))
                        kept_.push_back(i);
                    else
                    {
                        if (node(i).op == Op::div && no_check_of_quotient(i))
                            of(node(i).argument[1]).divides = set_.fused; // a row has reciprocals
                        for (int k = 0; k < node(i).arity(); ++k)
                            work_.push_back(node(i).argument[std::size_t(k)]);
                    }
                }
                std::sort(kept_.begin(), kept_.end());
                std::sort(kept_rows_.begin(), kept_rows_.end());
            }
            bool is_kept_row(int i) const { return std::binary_search(kept_rows_.begin(), kept_rows_.end(), i); }
            bool is_kept(int i) const { return std::binary_search(kept_.begin(), kept_.end(), i); }
            bool is_array(int i) const { return node(i).is_leaf() || is_kept(i) || is_kept_row(i); }

            void count_uses()
            {
                begin_walk();
                for (const int root : roots_)
                {
                    work_.push_back(root);
                    ++of(root).uses;
                }
                while (!work_.empty())
                {
                    const int i = next_of_walk();
                    if (i < 0 || !on_row(i) || is_array(i))
                        continue;
                    for (int k = 0; k < node(i).arity(); ++k)
                    {
                        ++of(node(i).argument[std::size_t(k)]).uses;
                        work_.push_back(node(i).argument[std::size_t(k)]);
                    }
                }
            }

            // --- requirements that hold on a stretch of the row ---

            static constexpr int neither_way = 2;
            // 1: rises along the row or stays, -1: falls or stays, 0: stays. Rounding goes with the arguments, so what is computed does too.
            int way(int i)
            {
                int& known = of(i).way;
                return known ? known - 3 : (known = find_way(i) + 3) - 3;
            }
            static int same_way(int a, int b) { return a == 0 ? b : b == 0 || a == b ? a
                                                                                     : neither_way; }
            static int other_way(int a) { return a == neither_way ? a : -a; }
            int find_way(int i)
            {
                const Node& n = node(i);
                if (!on_row(i))
                    return 0;
                if (!ranges_[std::size_t(i)].known())
                    return neither_way;
                if (n.is_leaf())
                    return n.axes == row_axes_ ? way_of(graph_.view(n)) : neither_way;
                const int a = way(n.argument[0]), b = n.arity() > 1 ? way(n.argument[1]) : 0;
                const auto least = [&](int k) { return ranges_[std::size_t(n.argument[std::size_t(k)])].low; };
                switch (n.op)
                {
                case Op::add:
                case Op::min:
                case Op::max: return same_way(a, b);
                case Op::sub: return same_way(a, other_way(b));
                case Op::neg: return other_way(a);
                case Op::sqrt:
                case Op::ceil:
                case Op::floor: return a;
                case Op::mul: return least(0) >= 0 && least(1) >= 0 ? same_way(a, b) : neither_way;
                case Op::div: return least(0) >= 0 && least(1) > 0 ? same_way(a, other_way(b)) : neither_way;
                default: return neither_way;
                }
            }
            int way_of(const View& view) const
            {
                const int axis = pass_.inner.back();
                const std::ptrdiff_t step = view.stride[std::size_t(axis)];
                bool rises = true, falls = true;
                for (std::size_t k = 1; k < pass_.row; ++k)
                {
                    const double before = view.data[std::ptrdiff_t(k - 1) * step], at = view.data[std::ptrdiff_t(k) * step];
                    rises = rises && before <= at, falls = falls && before >= at;
                }
                return rises && falls ? 0 : rises ? 1
                                        : falls   ? -1
                                                  : neither_way;
            }
            bool is_stretch(int left, int right) { return ranges_[std::size_t(left)].known() && ranges_[std::size_t(right)].known() && same_way(way(left), other_way(way(right))) != neither_way; }
            int stretch_step(Stretch& s, int i, int toward)
            {
                if (!on_row(i))
                    return -2 - value_of(i);
                Stretch::Step step;
                step.op = node(i).op;
                step.toward = {toward, step.op == Op::sub || step.op == Op::div ? -toward : toward};
                if (step.op == Op::neg)
                    step.toward[0] = -toward;
                if (node(i).is_leaf())
                    step.array = array_of(i);
                for (std::size_t k = 0; k < 2 && node(i).argument[k] >= 0; ++k)
                    step.argument[k] = stretch_step(s, node(i).argument[k], step.toward[k]);
                s.steps.push_back(step);
                return int(s.steps.size()) - 1;
            }
            void add_stretch(const Requirement& r)
            {
                Stretch s(pass_.stretches.get_allocator().resource());
                s.left = stretch_step(s, r.left, 1), s.right = stretch_step(s, r.right, -1);
                s.strict = r.strict;
                s.from_begin = same_way(way(r.left), other_way(way(r.right))) >= 0;
                pass_.stretches.push_back(std::move(s));
            }

            // Notes which way the objective goes with a value and with all that it is computed from; false where it goes neither way.
            bool aim(int i, int toward, int block_axis)
            {
                const Node& n = node(i);
                if (n.is_constant())
                    return true;
                int& known = of(i).toward;
                if (known || !ranges_[std::size_t(i)].known())
                    return known == toward;
                known = toward;
                if (!on_row(i))
                    return true;
                if (is_array(i))
                    return !(n.axes >> block_axis & 1);
                const auto least = [&](int k) { return ranges_[std::size_t(n.argument[std::size_t(k)])].low; };
                const auto both = [&](int second) { return aim(n.argument[0], toward, block_axis) && aim(n.argument[1], second, block_axis); };
                switch (n.op)
                {
                case Op::add:
                case Op::min:
                case Op::max: return both(toward);
                case Op::sub: return both(-toward);
                case Op::mul: return least(0) >= 0 && least(1) >= 0 && both(toward);
                case Op::div: return least(0) >= 0 && least(1) > 0 && both(-toward);
                case Op::neg: return aim(n.argument[0], -toward, block_axis);
                case Op::sqrt:
                case Op::ceil:
                case Op::floor: return aim(n.argument[0], toward, block_axis);
                default: return false;
                }
            }

            // --- values of a row ---

            int value_of(int i)
            {
                int& number = of(i).value;
                if (number >= 0)
                    return number;
                ScalarStep s;
                s.op = node(i).op;
                if (node(i).is_constant())
                    s.op = Op::constant;
                else if (is_kept(i))
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
                const auto steady = [&](const Reference& r) {
                    if (r.source == Source::row)
                        return (pass_.arrays[std::size_t(r.number)].view.axes & ~row_axes_) == 0;
                    return r.source == Source::strip || steps_[std::size_t(r.number)].depth == 0;
                };
                pass_.first_moving = std::size_t(std::stable_partition(pass_.references.begin(), pass_.references.end(), steady) - pass_.references.begin());
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
            void refer(Field field, Source source, int number, int toward = 0) { pass_.references.push_back({int(pass_.program.size()) - 1, field, source, number, toward}); }
            int array_of(int i)
            {
                int& number = of(i).array;
                if (number < 0)
                {
                    number = int(pass_.arrays.size());
                    Row r;
                    if (is_kept_row(i))
                    {
                        r.view.data = std::find_if(rows_.begin(), rows_.end(), [&](const Output& o) { return o.node == i; })->data;
                        pass_.arrays.push_back(std::move(r));
                        return number;
                    }
                    r.view = is_kept(i) ? *(*kept_views_)[std::size_t(i)] : graph_.view(node(i));
                    const int last = pass_.inner.back();
                    r.step = r.view.stride[std::size_t(last)];
                    std::ptrdiff_t length = r.step;
                    for (std::size_t k = pass_.inner.size(); k-- > 0 && pass_.inner.size() > 1;)
                    {
                        r.expand = r.expand || r.view.stride[std::size_t(pass_.inner[k])] != length;
                        length *= std::ptrdiff_t(graph_.shape()[std::size_t(pass_.inner[k])]);
                    }
                    pass_.arrays.push_back(std::move(r));
                }
                return number;
            }
            // The reciprocals of an array of the row alone, or -1 where they do not pay.
            int reciprocals_of(int i)
            {
                if (!set_.fused || pass_.rows == 1 || pass_.row > most_row_values || !is_array(i) || (node(i).axes & ~row_axes_))
                    return -1;
                int& number = of(i).reciprocals;
                if (number < 0)
                {
                    Row r;
                    r.reciprocal_of = array_of(i);
                    number = int(pass_.arrays.size());
                    pass_.arrays.push_back(std::move(r));
                }
                return number;
            }
            // Fills the operand of the instruction pushed last with a value that is at hand.
            void operand(int i, Field field = Field::operand)
            {
                Operand& o = field == Field::second ? pass_.program.back().second : pass_.program.back().operand;
                if (!on_row(i))
                {
                    if (node(i).is_constant())
                        o.scalar = node(i).value;
                    else
                        refer(field, Source::scalar, value_of(i), of(i).toward);
                }
                else if (is_array(i))
                    refer(field, Source::row, array_of(i));
                else
                {
                    refer(field, Source::strip, of(i).strip);
                    used(i);
                }
            }
            void used(int i)
            {
                if (--of(i).uses == 0 && of(i).strip >= 0)
                    free_strips_.push_back(of(i).strip);
            }
            bool at_hand(int i) const { return !on_row(i) || is_array(i) || of(i).strip >= 0; }
            void save(int i)
            {
                if (of(i).strip >= 0)
                    return;
                if (free_strips_.empty())
                    free_strips_.push_back(pass_.strips++);
                of(i).strip = free_strips_.back();
                free_strips_.pop_back();
                push(Code::save);
                refer(Field::result, Source::strip, of(i).strip);
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
                        ++of(i).uses; // a load is no use of its own
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
                if (of(i).uses > 1)
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
                return d.low > least_divisor && d.high < most_divisor && q.low > least_quotient && q.high < most_quotient;
            }
            void prove(int i) { pass_.program.back().op = no_check_of_quotient(i); }
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
                case Op::max: return binary(no_check_of_order(n) ? Code::maximum_proved : place == 0 ? Code::maximum
                                                                                                     : Code::maximum_of);
                case Op::min: return binary(no_check_of_order(n) ? Code::minimum_proved : place == 0 ? Code::minimum
                                                                                                     : Code::minimum_of);
                case Op::div:
                    if (place == 1)
                        return binary(Code::divide_into), prove(i);
                    if (const int r = on_row(other) && no_check_of_quotient(i) ? reciprocals_of(other) : -1; r >= 0)
                    {
                        binary(Code::divide_proved);
                        return refer(Field::second, Source::row, r);
                    }
                    if (on_row(other) || !set_.fused)
                        return binary(Code::divide), prove(i);
                    binary(no_check_of_quotient(i) ? Code::divide_proved : Code::divide_constant);
                    if (node(other).is_constant())
                        pass_.program.back().second.scalar = reciprocal(node(other).value);
                    else
                        refer(Field::second, Source::reciprocal, value_of(other), of(other).toward);
                    return;
                case Op::less: return binary(place == 0 ? Code::less : Code::more);
                case Op::less_equal: return binary(place == 0 ? Code::at_most : Code::at_least);
                case Op::equal: return binary(Code::equal);
                case Op::neg: push(Code::negate); return;
                case Op::sqrt: push(Code::square_root); return;
                case Op::exp: push(Code::exponential); return;
                case Op::log: push(Code::logarithm); return;
                case Op::select:
                    push(Code::choose);
                    operand(n.argument[1]);
                    operand(n.argument[2], Field::second);
                    return;
                default:
                {
                    Instruction& call = push(Code::call);
                    call.op = std::uint8_t(n.op), call.place = std::uint8_t(place), call.routine = n.routine;
                    Field field = Field::operand;
                    for (int k = 0; k < n.arity(); ++k)
                        if (k != place)
                            operand(n.argument[std::size_t(k)], field), field = Field::second;
                    pass_.has_routine = pass_.has_routine || n.routine;
                }
                }
            }

            struct Record // what the planner knows of a node
            {
                int value = -1, array = -1, reciprocals = -1, strip = -1; // its number among the values, arrays and saved strips of the pass
                bool divides = false;                   // is a divisor whose reciprocal will do
                int uses = 0;                           // still to come
                int seen = 0, counted = 0;              // by walks with this number
                int way = 0;                            // along the row, plus 3; 0: not known yet
                int toward = 0;                         // the objective goes with it (1) or against it (-1)
            };
            Record& of(int i) { return records_[std::size_t(i)]; }
            const Record& of(int i) const { return records_[std::size_t(i)]; }

            struct Step
            {
                ScalarStep step;
                std::size_t depth;
            };
            const Graph& graph_;
            const List<Range>& ranges_;
            const InstructionSet& set_;
            Pass pass_;
            AxisSet row_axes_ = 0;
            List<int> roots_; // nodes that the program must give
            List<int> kept_, kept_rows_;
            List<Output> rows_;
            const List<const View*>* kept_views_ = nullptr;
            List<Record> records_;
            List<int> work_, free_strips_;
            int walk_ = 0, walks_ = 0;
            List<Step> steps_;
            int running_ = -1;
        };
    }

    namespace
    {
        // Small blocks that a thread takes again and again.
        class Cache
        {
        public:
            ~Cache()
            {
                for (double* p : free_)
                    release(p);
            }
            double* take()
            {
                if (free_.empty())
                    return allocate(size);
                double* const p = free_.back();
                free_.pop_back();
                return p;
            }
            void give(double* p)
            {
                if (free_.size() < most)
                    free_.push_back(p);
                else
                    release(p);
            }
            static double* allocate(std::size_t n) { return static_cast<double*>(::operator new(n * sizeof(double), line)); }
            static void release(double* p) { ::operator delete(p, line); }
            static constexpr std::size_t size = 4096, most = 32; // doubles of a block, blocks

        private:
            static constexpr std::align_val_t line{64};
            std::vector<double*> free_;
        };
        thread_local Cache cache;
    }
    void GiveBack::operator()(double* p) const { cached ? cache.give(p) : Cache::release(p); }
    Doubles aligned_doubles(std::size_t n)
    {
        const bool cached = n <= Cache::size;
        return {cached ? cache.take() : Cache::allocate(n), GiveBack{cached}};
    }
    double reciprocal(double divisor)
    {
        const double size = std::fabs(divisor);
        return size > least_divisor && size < most_divisor ? 1.0 / divisor : 0.0;
    }
    AxisSet written_axes(const Graph& graph, const Output& output)
    {
        AxisSet axes = graph[output.node].axes;
        for (std::size_t k = 0; k < graph.shape().size(); ++k)
            if (output.stride[k] != 0 && graph.shape()[k] > 1)
                axes |= AxisSet(1) << k;
        return axes;
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

    std::array<std::ptrdiff_t, most_axes> result_strides(const Graph& graph, AxisSet axes)
    {
        std::array<std::ptrdiff_t, most_axes> stride{};
        std::ptrdiff_t next = 1;
        const std::vector<int> order = memory_order(graph, axes);
        for (auto k = order.rbegin(); k != order.rend(); ++k)
        {
            stride[std::size_t(*k)] = next;
            next *= std::ptrdiff_t(graph.shape()[std::size_t(*k)]);
        }
        return stride;
    }

    namespace
    {
        // Makes the passes of a plan, the last one first: what a pass keeps becomes an output of one with fewer axes.
        class Planning
        {
        public:
            Planning(const Graph& graph, const InstructionSet& set, Arena* arena) : graph_(graph), set_(set), arena_(arena), bounds_(ranges(graph, arena)), views_(std::size_t(graph.size()), arena), kept_views_(std::size_t(graph.size()), nullptr, arena), open_(arena), plan_(arena)
            {
                plan_.passes.reserve(8), plan_.kept.reserve(16), open_.reserve(16);
            }
            void want(const Output& o) { open_.push_back(o); }
            void want(const FoldPass& fold)
            {
                PassPlanner planner(graph_, bounds_, set_, arena_, fold);
                add(planner, [&] { return planner.compile(kept_views_, fold); });
            }
            Plan finish()
            {
                const auto axis_count = [](AxisSet a) { return __builtin_popcount(a); };
                while (!open_.empty())
                {
                    const auto written = [&](const Output& o) { return written_axes(graph_, o); };
                    const AxisSet axes = written(*std::max_element(open_.begin(), open_.end(), [&](const Output& a, const Output& b) { return axis_count(written(a)) < axis_count(written(b)); }));
                    const auto rest = std::stable_partition(open_.begin(), open_.end(), [&](const Output& o) { return written(o) != axes; });
                    PassPlanner planner(graph_, bounds_, set_, arena_, List<Output>(rest, open_.end(), arena_), axes);
                    open_.erase(rest, open_.end());
                    add(planner, [&] { return planner.compile(kept_views_); });
                }
                std::reverse(plan_.passes.begin(), plan_.passes.end());
                return std::move(plan_);
            }

        private:
            void keep(const List<int>& nodes)
            {
                for (const int node : nodes)
                {
                    View& view = views_[std::size_t(node)];
                    if (view.data)
                        continue;
                    const AxisSet own = graph_[node].axes;
                    plan_.kept.push_back(aligned_doubles(graph_.points(own)));
                    const Output o{node, plan_.kept.back().get(), result_strides(graph_, own), true};
                    view = {o.data, own, o.stride};
                    kept_views_[std::size_t(node)] = &view;
                    open_.push_back(o);
                }
            }
            template <class Compile> void add(PassPlanner& planner, Compile compile)
            {
                keep(planner.kept());
                List<Output> rows(arena_);
                for (const int node : planner.kept_rows())
                {
                    plan_.kept.push_back(aligned_doubles(planner.row()));
                    rows.push_back({node, plan_.kept.back().get(), {}, true});
                    rows.back().stride[std::size_t(planner.last_axis())] = 1;
                }
                planner.set_kept_rows(rows);
                std::optional<PassPlanner> before;
                if (!rows.empty())
                {
                    before.emplace(planner, arena_, rows);
                    keep(before->kept());
                }
                plan_.passes.push_back(compile());
                if (before)
                    plan_.passes.push_back(before->compile(kept_views_));
            }

            const Graph& graph_;
            const InstructionSet& set_;
            Arena* arena_;
            List<Range> bounds_;
            List<View> views_;
            List<const View*> kept_views_;
            List<Output> open_;
            Plan plan_;
        };
    }
    Plan make_plan(const Graph& graph, const std::vector<Output>& outputs, const InstructionSet& set, Arena* arena)
    {
        Plan constants(arena);
        for (const Output& o : outputs)
            if (!written_axes(graph, o))
                constants.constants.push_back(o);
        if (constants.constants.size() == outputs.size())
            return constants;
        Planning planning(graph, set, arena);
        for (const Output& o : outputs)
            if (written_axes(graph, o))
                planning.want(o);
        Plan plan = planning.finish();
        plan.constants = std::move(constants.constants);
        return plan;
    }
    Plan make_plan(const Graph& graph, const FoldPass& fold, const InstructionSet& set, Arena* arena)
    {
        Planning planning(graph, set, arena);
        planning.want(fold);
        return planning.finish();
    }
}
