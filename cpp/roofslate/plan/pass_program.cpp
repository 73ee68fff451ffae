#include "roofslate/plan/pass_program.hpp"
#include "roofslate/language/distributions.hpp"
#include <optional>

namespace roofslate
{
    namespace
    {
        class ProgramWriter
        {
        public:
            ProgramWriter(PassLayout& layout, const List<const View*>& kept_views)
                : layout_(layout),
                  kept_views_(kept_views),
                  pass_(layout.pass()),
                  infos_(std::size_t(layout.graph().size()), layout.arena()),
                  free_strips_(layout.arena()),
                  steps_(layout.arena())
            { pass_.program.reserve(32), pass_.references.reserve(32), pass_.arrays.reserve(16), steps_.reserve(32); }

            Pass write()
            {
                count_uses();
                for (const Output& o : pass_.outputs)
                {
                    make_running(o.node);
                    push(Code::write).storage = o.storage;
                    pass_.writes.push_back(int(pass_.program.size()) - 1);
                    if (!is_array(o.node))
                        release(o.node);
                }
                push(Code::end);
                order_steps();
                return std::move(pass_);
            }
            Pass write(const FoldPass& fold, Directions& directions)
            {
                count_uses();
                int met = -1; // the strip of the requirements
                for (const auto& [left, right, strict] : fold.requirements)
                {
                    if (directions.of_difference(left, right) != Direction::unknown)
                        continue;
                    const bool left_runs = on_row(left) || !on_row(right);
                    const int running = left_runs ? left : right, operand_node = left_runs ? right : left;
                    materialize(operand_node);
                    make_running(running);
                    push(
                        left_runs    ? strict ? Code::require_less : Code::require_at_most
                            : strict ? Code::require_more
                                     : Code::require_at_least)
                        .joins = met >= 0;
                    if (met < 0)
                        met = pass_.strips++;
                    operand(operand_node);
                    refer(Field::scratch, Source::strip, met);
                    if (on_row(running) && !is_array(running))
                        release(running);
                }
                std::optional<Directions> from_row_to_row;
                if (!fold.outer.empty())
                    from_row_to_row.emplace(layout_.graph(), layout_.ranges(), fold.outer.back(), layout_.arena());
                for (const Requirement& r : fold.requirements)
                    if (const Direction d = directions.of_difference(r.lhs, r.rhs); d != Direction::unknown)
                    {
                        add_stretch(r, d);
                        if (from_row_to_row)
                            pass_.stretches.back().from_row_to_row = from_row_to_row->of_difference(r.lhs, r.rhs);
                    }
                if (met < 0 && fold.block_axis >= 0)
                {
                    pass_.direction = direction(layout_.graph(), layout_.ranges(), fold.objective, fold.block_axis);
                    const bool monotone = pass_.direction != Direction::unknown;
                    if (monotone)
                        pass_.bound_share = range(fold.objective).low > 0 ? 1 - direction_slack : 1 + direction_slack;
                    pass_.has_bounds = monotone || aim(fold.objective, Direction::nondecreasing, fold.block_axis);
                }
                make_running(fold.objective);
                pass_.fold = int(pass_.program.size());
                push(Code::keep);
                if (met >= 0)
                    refer(Field::second, Source::strip, met);
                push(Code::end);
                order_steps();
                return std::move(pass_);
            }

        private:
            const Node& node(int i) const { return layout_.node(i); }
            const Range& range(int i) const { return layout_.range(i); }
            bool on_row(int i) const { return layout_.on_row(i); }
            bool is_array(int i) const { return layout_.is_array(i); }

            void count_uses()
            {
                Walk walk(layout_.graph().size(), layout_.arena());
                for (const int root : layout_.roots())
                {
                    walk.add(root);
                    ++info(root).uses;
                }
                for (int i; (i = walk.next()) >= 0;)
                {
                    if (!on_row(i) || is_array(i))
                        continue;
                    for (int k = 0; k < node(i).arity(); ++k)
                    {
                        ++info(node(i).argument[std::size_t(k)]).uses;
                        walk.add(node(i).argument[std::size_t(k)]);
                    }
                }
            }

            // --- requirements that hold on a stretch of the row ---

            int stretch_step(Stretch& s, int i, Direction difference)
            {
                if (!on_row(i))
                    return -2 - value_of(i);
                Stretch::Step step;
                step.op = node(i).op;
                const bool second_reverses = step.op == Op::sub || step.op == Op::div;
                step.difference = {
                    step.op == Op::neg ? reversed(difference) : difference,
                    second_reverses ? reversed(difference) : difference};
                if (node(i).is_leaf())
                    step.array = array_of(i);
                for (std::size_t k = 0; k < 2 && node(i).argument[k] >= 0; ++k)
                    step.argument[k] = stretch_step(s, node(i).argument[k], step.difference[k]);
                s.steps.push_back(step);
                return int(s.steps.size()) - 1;
            }
            void add_stretch(const Requirement& r, Direction difference)
            {
                Stretch s(layout_.arena());
                s.lhs = stretch_step(s, r.lhs, Direction::nondecreasing);
                s.rhs = stretch_step(s, r.rhs, Direction::nonincreasing);
                s.strict = r.strict;
                s.from_begin = difference != Direction::nonincreasing;
                pass_.stretches.push_back(std::move(s));
            }

            // Notes the direction of the objective with a value and with all that it is computed from; false where it
            // is not monotone in one of them.
            bool aim(int i, Direction objective, int block_axis)
            {
                const Node& n = node(i);
                if (n.is_constant())
                    return true;
                Direction& known = info(i).objective;
                if (known != Direction::unknown || !range(i).known())
                    return known == objective;
                known = objective;
                if (!on_row(i))
                    return true;
                if (is_array(i))
                    return !(n.axes >> block_axis & 1);
                const auto least = [&](int k) { return range(n.argument[std::size_t(k)]).low; };
                const auto both = [&](Direction second) {
                    return aim(n.argument[0], objective, block_axis) && aim(n.argument[1], second, block_axis);
                };
                switch (n.op)
                {
                case Op::add:
                case Op::min:
                case Op::max: return both(objective);
                case Op::sub: return both(reversed(objective));
                case Op::mul: return least(0) >= 0 && least(1) >= 0 && both(objective);
                case Op::div: return least(0) >= 0 && least(1) > 0 && both(reversed(objective));
                case Op::neg: return aim(n.argument[0], reversed(objective), block_axis);
                case Op::sqrt:
                case Op::ceil:
                case Op::floor: return aim(n.argument[0], objective, block_axis);
                default: return false;
                }
            }

            // --- values of a row ---

            int value_of(int i)
            {
                int& number = info(i).value;
                if (number >= 0)
                    return number;
                ScalarStep s;
                s.op = node(i).op;
                if (node(i).is_constant())
                    s.op = Op::constant;
                else if (layout_.is_kept(i))
                    s.op = Op::input, s.view = *kept_views_[std::size_t(i)];
                else if (node(i).is_leaf())
                    s.view = layout_.graph().view(node(i));
                else
                {
                    s.routine = node(i).routine;
                    for (int k = 0; k < node(i).arity(); ++k)
                        s.argument[std::size_t(k)] = value_of(node(i).argument[std::size_t(k)]);
                }
                number = s.result = int(steps_.size());
                s.constant = node(i).value;
                steps_.push_back({s, layout_.depth(node(i).axes)});
                return number;
            }
            void order_steps()
            {
                const auto depth = [&](const Reference& r) {
                    if (r.source == Source::row)
                        return layout_.depth(pass_.arrays[std::size_t(r.number)].view.axes);
                    return r.source == Source::strip ? 0 : steps_[std::size_t(r.number)].depth;
                };
                std::stable_sort(
                    pass_.references.begin(),
                    pass_.references.end(),
                    [&](const Reference& a, const Reference& b) { return depth(a) < depth(b); });
                pass_.first_reference.assign(pass_.outer.size() + 1, pass_.references.size());
                for (std::size_t k = pass_.references.size(); k-- > 0;)
                    for (std::size_t d = 0; d <= depth(pass_.references[k]); ++d)
                        pass_.first_reference[d] = k;
                std::stable_sort(steps_.begin(), steps_.end(), [](const Step& a, const Step& b) {
                    return a.depth < b.depth;
                });
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
            void refer(Field field, Source source, int number, Direction objective = Direction::unknown)
            { pass_.references.push_back({int(pass_.program.size()) - 1, field, source, number, objective}); }
            int array_of(int i)
            {
                int& number = info(i).array;
                if (number < 0)
                {
                    number = int(pass_.arrays.size());
                    Row r;
                    if (layout_.is_kept_row(i))
                    {
                        r.view.data = layout_.kept_row(i);
                        pass_.arrays.push_back(std::move(r));
                        return number;
                    }
                    r.view = layout_.is_kept(i) ? *kept_views_[std::size_t(i)] : layout_.graph().view(node(i));
                    const int last = layout_.last_axis();
                    r.step = r.view.stride[std::size_t(last)];
                    std::ptrdiff_t length = r.step;
                    for (std::size_t k = pass_.inner.size(); k-- > 0 && pass_.inner.size() > 1;)
                    {
                        r.expand = r.expand || r.view.stride[std::size_t(pass_.inner[k])] != length;
                        length *= std::ptrdiff_t(layout_.graph().shape()[std::size_t(pass_.inner[k])]);
                    }
                    pass_.arrays.push_back(std::move(r));
                }
                return number;
            }
            // The reciprocals of an array that depends only on the row, or -1 if they do not pay.
            int reciprocals_of(int i)
            {
                if (!layout_.set().fused || pass_.rows == 1 || pass_.row > most_row_values || !is_array(i)
                    || !layout_.is_row_alone(node(i).axes))
                    return -1;
                int& number = info(i).reciprocals;
                if (number < 0)
                {
                    Row r;
                    r.reciprocal_of = array_of(i);
                    number = int(pass_.arrays.size());
                    pass_.arrays.push_back(std::move(r));
                }
                return number;
            }
            // Fills the operand of the instruction pushed last with an available value.
            void operand(int i, Field field = Field::operand)
            {
                Operand& o = field == Field::second ? pass_.program.back().second : pass_.program.back().operand;
                if (!on_row(i))
                {
                    if (node(i).is_constant())
                        o.scalar = node(i).value;
                    else
                        refer(field, Source::scalar, value_of(i), info(i).objective);
                }
                else if (is_array(i))
                    refer(field, Source::row, array_of(i));
                else
                {
                    refer(field, Source::strip, info(i).strip);
                    release(i);
                }
            }
            // --- the running value, and strips as the other registers ---

            bool is_available(int i) const { return !on_row(i) || is_array(i) || info(i).strip >= 0; }
            void release(int i) // after a use
            {
                if (--info(i).uses == 0 && info(i).strip >= 0)
                    free_strips_.push_back(info(i).strip);
            }
            void save(int i)
            {
                if (info(i).strip >= 0)
                    return;
                if (free_strips_.empty())
                    free_strips_.push_back(pass_.strips++);
                info(i).strip = free_strips_.back();
                free_strips_.pop_back();
                push(Code::save);
                refer(Field::scratch, Source::strip, info(i).strip);
            }
            void make_running(int i)
            {
                if (running_ == i)
                    return;
                if (is_available(i))
                {
                    const bool strip = on_row(i) && !is_array(i);
                    push(Code::load);
                    if (strip)
                        ++info(i).uses; // a load is no separate use
                    operand(i);
                }
                else
                    compute(i);
                running_ = i;
            }
            void materialize(int i)
            {
                if (is_available(i))
                    return;
                make_running(i);
                save(i);
            }
            void compute(int i)
            {
                const Node& n = node(i);
                const int running = running_argument(n);
                for (int k = 0; k < n.arity(); ++k)
                    if (k != running)
                        materialize(n.argument[std::size_t(k)]);
                const int value = n.argument[std::size_t(running)];
                make_running(value);
                emit(i, running);
                if (on_row(value) && !is_array(value))
                    release(value);
                running_ = i;
                if (info(i).uses > 1)
                    save(i);
            }
            // The argument that becomes the running value: the one that runs already, one that is not available, or
            // else the first on the row.
            int running_argument(const Node& n) const
            {
                if (n.op == Op::select)
                    return 0;
                for (int k = 0; k < n.arity(); ++k)
                    if (n.argument[std::size_t(k)] == running_ && remaining_are_available(n, k))
                        return k;
                for (int k = n.arity(); k-- > 0;)
                    if (!is_available(n.argument[std::size_t(k)]))
                        return k;
                for (int k = 0; k < n.arity(); ++k)
                    if (on_row(n.argument[std::size_t(k)]))
                        return k;
                return -1;
            }
            bool remaining_are_available(const Node& n, int running) const
            {
                for (int k = 0; k < n.arity(); ++k)
                    if (k != running && !is_available(n.argument[std::size_t(k)]))
                        return false;
                return true;
            }
            bool is_order_proved(const Node& n) const
            {
                const Range &a = range(n.argument[0]), &b = range(n.argument[1]);
                return a.known() && b.known() && (!a.holds_zero() || !b.holds_zero());
            }
            void prove(int i) { pass_.program.back().proved = layout_.is_quotient_proved(i); }
            void emit(int i, int running)
            {
                const Node& n = node(i);
                const int other = n.arity() == 2 ? n.argument[std::size_t(1 - running)] : -1;
                const auto binary = [&](Code code) { push(code), operand(other); };
                switch (n.op)
                {
                case Op::add: return binary(Code::add);
                case Op::mul: return binary(Code::multiply);
                case Op::sub: return binary(running == 0 ? Code::subtract : Code::subtract_from);
                case Op::max:
                    return binary(
                        is_order_proved(n) ? Code::maximum_proved
                            : running == 0 ? Code::maximum
                                           : Code::maximum_of);
                case Op::min:
                    return binary(
                        is_order_proved(n) ? Code::minimum_proved
                            : running == 0 ? Code::minimum
                                           : Code::minimum_of);
                case Op::div:
                    if (running == 1)
                        return binary(Code::divide_into), prove(i);
                    if (const int r = on_row(other) && layout_.is_quotient_proved(i) ? reciprocals_of(other) : -1;
                        r >= 0)
                    {
                        binary(Code::divide_proved);
                        return refer(Field::second, Source::row, r);
                    }
                    if (on_row(other) || !layout_.set().fused)
                        return binary(Code::divide), prove(i);
                    binary(layout_.is_quotient_proved(i) ? Code::divide_proved : Code::divide_constant);
                    if (node(other).is_constant())
                        pass_.program.back().second.scalar = reciprocal(node(other).value);
                    else
                        refer(Field::second, Source::reciprocal, value_of(other), info(other).objective);
                    return;
                case Op::less: return binary(running == 0 ? Code::less : Code::more);
                case Op::less_equal: return binary(running == 0 ? Code::at_most : Code::at_least);
                case Op::equal: return binary(Code::equal);
                case Op::neg: push(Code::negate); return;
                case Op::sqrt: push(Code::square_root); return;
                case Op::select:
                    push(Code::choose);
                    operand(n.argument[1]);
                    operand(n.argument[2], Field::second);
                    return;
                default:
                {
                    Instruction& call = push(Code::call);
                    call.operation = n.op, call.argument = std::uint8_t(running), call.routine = n.routine;
                    call.wide = n.routine ? quantities::number_in(quantities::wide_routines{}, n.routine->name) : -1;
                    Field field = Field::operand;
                    for (int k = 0; k < n.arity(); ++k)
                        if (k != running)
                            operand(n.argument[std::size_t(k)], field), field = Field::second;
                    pass_.has_routine = pass_.has_routine || n.routine;
                }
                }
            }

            struct NodeInfo
            {
                // numbers among the values, arrays and saved strips of the pass
                int value = -1, array = -1, reciprocals = -1, strip = -1;
                int uses = 0; // still to come
                Direction objective = Direction::unknown; // of the fold's objective with the node
            };
            NodeInfo& info(int i) { return infos_[std::size_t(i)]; }
            const NodeInfo& info(int i) const { return infos_[std::size_t(i)]; }

            struct Step
            {
                ScalarStep step;
                std::size_t depth;
            };
            const PassLayout& layout_;
            const List<const View*>& kept_views_;
            Pass& pass_;
            List<NodeInfo> infos_;
            List<int> free_strips_;
            List<Step> steps_;
            int running_ = -1;
        };
    }

    double reciprocal(double divisor)
    {
        const double size = std::fabs(divisor);
        return size > least_divisor && size < most_divisor ? 1.0 / divisor : 0.0;
    }
    Pass write_program(PassLayout& layout, const List<const View*>& kept_views)
    { return ProgramWriter(layout, kept_views).write(); }
    Pass write_program(
        PassLayout& layout,
        const List<const View*>& kept_views,
        const FoldPass& fold,
        Directions& directions)
    { return ProgramWriter(layout, kept_views).write(fold, directions); }
}
