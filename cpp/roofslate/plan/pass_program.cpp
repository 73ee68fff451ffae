#include "roofslate/plan/pass_program.hpp"

namespace roofslate
{
    namespace
    {
        class ProgramWriter
        {
        public:
            ProgramWriter(PassLayout& layout, const List<const View*>& kept)
                : layout_(layout),
                  kept_views_(kept),
                  pass_(layout.pass()),
                  records_(std::size_t(layout.graph().size()), layout.arena()),
                  free_strips_(layout.arena()),
                  steps_(layout.arena())
            { pass_.program.reserve(32), pass_.references.reserve(32), pass_.arrays.reserve(16), steps_.reserve(32); }

            Pass write()
            {
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
            Pass write(const FoldPass& fold, Directions& directions)
            {
                count_uses();
                int met = -1;
                for (const auto& [left, right, strict] : fold.requirements)
                {
                    if (directions.of_difference(left, right) != Direction::unknown)
                        continue;
                    const bool first = met < 0;
                    if (first)
                        met = pass_.strips++;
                    const bool left_runs = on_row(left) || !on_row(right);
                    make_at_hand(left_runs ? right : left);
                    bring(left_runs ? left : right);
                    push(
                        left_runs    ? strict ? Code::require_less : Code::require_at_most
                            : strict ? Code::require_more
                                     : Code::require_at_least)
                        .op = !first;
                    operand(left_runs ? right : left);
                    refer(Field::result, Source::strip, met);
                    if (const int ran = left_runs ? left : right; on_row(ran) && !is_array(ran))
                        used(ran);
                }
                for (const Requirement& r : fold.requirements)
                    if (const Direction d = directions.of_difference(r.left, r.right); d != Direction::unknown)
                        add_stretch(r, d);
                if (met < 0 && fold.block_axis >= 0)
                {
                    pass_.direction = direction(layout_.graph(), layout_.ranges(), fold.objective, fold.block_axis);
                    const bool monotone = pass_.direction != Direction::unknown;
                    if (monotone)
                        pass_.bound_share = range(fold.objective).low > 0 ? 1 - direction_slack : 1 + direction_slack;
                    pass_.has_bounds = monotone || aim(fold.objective, Direction::nondecreasing, fold.block_axis);
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
                    ++of(root).uses;
                }
                for (int i; (i = walk.next()) >= 0;)
                {
                    if (!on_row(i) || is_array(i))
                        continue;
                    for (int k = 0; k < node(i).arity(); ++k)
                    {
                        ++of(node(i).argument[std::size_t(k)]).uses;
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
                s.left = stretch_step(s, r.left, Direction::nondecreasing);
                s.right = stretch_step(s, r.right, Direction::nonincreasing);
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
                Direction& known = of(i).objective;
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
                int& number = of(i).value;
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
                const auto steady = [&](const Reference& r) {
                    if (r.source == Source::row)
                        return layout_.is_row_alone(pass_.arrays[std::size_t(r.number)].view.axes);
                    return r.source == Source::strip || steps_[std::size_t(r.number)].depth == 0;
                };
                pass_.first_moving = std::size_t(
                    std::stable_partition(pass_.references.begin(), pass_.references.end(), steady)
                    - pass_.references.begin());
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
                int& number = of(i).array;
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
            // The reciprocals of an array of the row alone, or -1 where they do not pay.
            int reciprocals_of(int i)
            {
                if (!layout_.set().fused || pass_.rows == 1 || pass_.row > most_row_values || !is_array(i)
                    || !layout_.is_row_alone(node(i).axes))
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
                        refer(field, Source::scalar, value_of(i), of(i).objective);
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
                // The running value is the argument that is not yet at hand, the one that runs already, or else the
                // first on the row.
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
            bool no_check_of_order(const Node& n) const
            {
                const Range &a = range(n.argument[0]), &b = range(n.argument[1]);
                return a.known() && b.known() && (!a.holds_zero() || !b.holds_zero());
            }
            void prove(int i) { pass_.program.back().op = layout_.no_check_of_quotient(i); }
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
                case Op::max:
                    return binary(
                        no_check_of_order(n) ? Code::maximum_proved
                            : place == 0     ? Code::maximum
                                             : Code::maximum_of);
                case Op::min:
                    return binary(
                        no_check_of_order(n) ? Code::minimum_proved
                            : place == 0     ? Code::minimum
                                             : Code::minimum_of);
                case Op::div:
                    if (place == 1)
                        return binary(Code::divide_into), prove(i);
                    if (const int r = on_row(other) && layout_.no_check_of_quotient(i) ? reciprocals_of(other) : -1;
                        r >= 0)
                    {
                        binary(Code::divide_proved);
                        return refer(Field::second, Source::row, r);
                    }
                    if (on_row(other) || !layout_.set().fused)
                        return binary(Code::divide), prove(i);
                    binary(layout_.no_check_of_quotient(i) ? Code::divide_proved : Code::divide_constant);
                    if (node(other).is_constant())
                        pass_.program.back().second.scalar = reciprocal(node(other).value);
                    else
                        refer(Field::second, Source::reciprocal, value_of(other), of(other).objective);
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

            struct Record // what is known of a node
            {
                // its number among the values, arrays and saved strips of the pass
                int value = -1, array = -1, reciprocals = -1, strip = -1;
                int uses = 0;                                             // still to come
                Direction objective = Direction::unknown; // of the fold's objective with the node
            };
            Record& of(int i) { return records_[std::size_t(i)]; }
            const Record& of(int i) const { return records_[std::size_t(i)]; }

            struct Step
            {
                ScalarStep step;
                std::size_t depth;
            };
            const PassLayout& layout_;
            const List<const View*>& kept_views_;
            Pass& pass_;
            List<Record> records_;
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
    Pass write_program(PassLayout& layout, const List<const View*>& kept)
    { return ProgramWriter(layout, kept).write(); }
    Pass write_program(PassLayout& layout, const List<const View*>& kept, const FoldPass& fold, Directions& directions)
    { return ProgramWriter(layout, kept).write(fold, directions); }
}
