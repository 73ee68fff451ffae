#include "roofslate/language/operations.hpp"
#include <algorithm>

namespace roofslate
{
    namespace
    {
        constexpr std::pair<std::string_view, Op> named_operations[]{
            {"add", Op::add},
            {"sub", Op::sub},
            {"mul", Op::mul},
            {"div", Op::div},
            {"neg", Op::neg},
            {"min", Op::min},
            {"max", Op::max},
            {"pow", Op::pow},
            {"exp", Op::exp},
            {"log", Op::log},
            {"sqrt", Op::sqrt},
            {"ceil", Op::ceil},
            {"floor", Op::floor},
            {"less", Op::less},
            {"less_equal", Op::less_equal},
            {"equal", Op::equal},
            {"both", Op::both},
            {"either", Op::either},
            {"select", Op::select}};

        UnitOfOperation alike(const Dimension& shared, int a, int b)
        { return {shared, shared.mixed ? std::vector<int>{a, b} : std::vector<int>()}; }
        UnitOfOperation of_numbers(const std::vector<Dimension>& operands)
        {
            for (std::size_t k = 0; k < operands.size(); ++k)
                if (exp(operands[k]).mixed)
                    return {Dimension{}, {int(k)}};
            return {Dimension{}, {}};
        }
        UnitOfOperation unit_without_marks(Op op, const std::vector<Dimension>& x)
        {
            switch (op)
            {
            case Op::mul: return {require_readable(x[0] * x[1]), {}};
            case Op::div: return {require_readable(x[0] / x[1]), {}};
            case Op::sqrt: return {root(x[0]), {}};
            case Op::neg:
            case Op::ceil:
            case Op::floor: return {x[0], {}};
            case Op::add:
            case Op::sub:
            case Op::min:
            case Op::max: return alike(x[0] + x[1], 0, 1);
            case Op::select: return alike(x[1] + x[2], 1, 2);
            case Op::less:
            case Op::less_equal:
            case Op::equal: return {Dimension{}, alike(x[0] + x[1], 0, 1).misfits};
            case Op::both:
            case Op::either: return {Dimension{}, {}};
            case Op::pow:
            case Op::exp:
            case Op::log:
            case Op::routine:
            case Op::input:
            case Op::constant: break;
            }
            return of_numbers(x);
        }
    }

    std::optional<Op> operation_called(std::string_view name)
    {
        for (const auto& [known, op] : named_operations)
            if (known == name)
                return op;
        return {};
    }
    std::string_view name_of(const Operation& operation)
    {
        for (const auto& [name, op] : named_operations)
            if (op == operation.op)
                return name;
        return operation.routine ? operation.routine->name : std::string_view();
    }
    int arity_of(const Operation& operation)
    {
        switch (operation.op)
        {
        case Op::input:
        case Op::constant: return 0;
        case Op::neg:
        case Op::exp:
        case Op::log:
        case Op::sqrt:
        case Op::ceil:
        case Op::floor: return 1;
        case Op::select: return 3;
        case Op::routine: return operation.routine->arity;
        default: return 2;
        }
    }

    Tape without_unused(const Tape& tape, int root)
    {
        const std::vector<Operation>& operations = tape.operations;
        std::vector<char> is_used(operations.size(), 0);
        is_used[std::size_t(root)] = 1;
        for (std::size_t i = operations.size(); i-- > 0;)
            for (int k = 0; is_used[i] && k < arity_of(operations[i]); ++k)
                is_used[std::size_t(operations[i].argument[k])] = 1;
        Tape used;
        std::vector<int> position(operations.size(), -1);
        for (std::size_t i = 0; i < operations.size(); ++i)
        {
            if (!is_used[i])
                continue;
            Operation o = operations[i];
            for (int k = 0; k < arity_of(o); ++k)
                o.argument[k] = position[std::size_t(o.argument[k])];
            position[i] = used.push(o);
        }
        return used;
    }

    UnitOfOperation unit_of(Op op, const std::vector<Dimension>& operands)
    {
        UnitOfOperation result = unit_without_marks(op, operands);
        result.unit.written =
            std::all_of(operands.begin(), operands.end(), [](const Dimension& x) { return x.written; });
        return result;
    }
}
