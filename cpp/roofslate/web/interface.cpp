// The interface in C, for pages. Quantities are positions in the registry. Arrays belong to the caller. Numbers and
// text of an answer belong to the engine until the next question. A refused call returns -1, and the text gives the
// reason.
#include "roofslate/language/error.hpp"
#include "roofslate/web/scenario.hpp"
#include <algorithm>
#include <new>

#if defined(__EMSCRIPTEN__)
#include <emscripten/emscripten.h>
#define ROOFSLATE_EXPORTED EMSCRIPTEN_KEEPALIVE
#else
#define ROOFSLATE_EXPORTED
#endif

using namespace roofslate;
using web::Scenario;

namespace
{
    struct Response
    {
        std::vector<double> numbers;
        std::string text;
    };
    Response& response()
    {
        static Response numbers_and_text;
        return numbers_and_text;
    }
    template <class Question> int answered(const Question& question)
    {
        response() = {};
        try
        {
            return question();
        }
        catch (const std::bad_alloc&)
        {
            response().text = "OutOfMemory\tthe question takes more memory than there is; nothing was computed";
        }
        catch (const Error& error)
        {
            response().text = std::string(error.kind()) + "\t" + error.what();
        }
        catch (const std::exception& error)
        {
            response().text = std::string("InternalError\t") + error.what();
        }
        return -1;
    }
    std::string_view relation_called(int position)
    {
        constexpr std::string_view relations[]{"<", "<=", "==", "!=", ">=", ">"};
        return relations[position];
    }
}

extern "C"
{
    // The names of all quantities in the order of the registry, a line each.
    ROOFSLATE_EXPORTED const char* roofslate_names()
    {
        static const std::string names = [] {
            std::string all;
            for (int q = 0; q < registry().size(); ++q)
                all += (q ? "\n" : "") + std::string(registry()[q].name);
            return all;
        }();
        return names.c_str();
    }
    ROOFSLATE_EXPORTED void* roofslate_allocate(std::size_t bytes) { return ::operator new(bytes, std::nothrow); }
    ROOFSLATE_EXPORTED void roofslate_release(void* memory) { ::operator delete(memory); }
    ROOFSLATE_EXPORTED const char* roofslate_text() { return response().text.c_str(); }
    ROOFSLATE_EXPORTED const double* roofslate_numbers() { return response().numbers.data(); }

    ROOFSLATE_EXPORTED Scenario* roofslate_scenario() { return new Scenario; }
    ROOFSLATE_EXPORTED void roofslate_free(Scenario* scenario) { delete scenario; }
    ROOFSLATE_EXPORTED int roofslate_set(Scenario* scenario, int quantity, double value)
    {
        return answered([&] {
            scenario->set(quantity, value);
            return 0;
        });
    }
    ROOFSLATE_EXPORTED int roofslate_axis(Scenario* scenario, int quantity, const double* values, std::size_t size)
    {
        return answered([&] {
            scenario->set_axis(quantity, values, size);
            return 0;
        });
    }
    // Sets of axes, bit k: along the axis that came k-th.
    ROOFSLATE_EXPORTED int roofslate_axes(
        const Scenario* scenario,
        const int* outputs,
        std::size_t count,
        std::uint32_t* sets)
    {
        return answered([&] {
            const std::vector<AxisSet> all = scenario->axes_of({outputs, outputs + count});
            std::copy(all.begin(), all.end(), sets);
            return 0;
        });
    }
    ROOFSLATE_EXPORTED int roofslate_evaluate(
        const Scenario* scenario,
        const int* outputs,
        std::size_t count,
        double* const* results)
    {
        return answered([&] {
            scenario->evaluate({outputs, outputs + count}, {results, results + count});
            return 0;
        });
    }
    // Conditions are three arrays: a quantity, the position of an operator among < <= == != >= >, a number. The first
    // of the numbers is 1 where there is an optimum, the next its value, then its position along each axis.
    ROOFSLATE_EXPORTED int roofslate_best(
        const Scenario* scenario,
        int output,
        int maximize,
        std::size_t conditions,
        const int* quantities,
        const int* operators,
        const double* values)
    {
        return answered([&] {
            std::vector<web::Comparison> where;
            for (std::size_t k = 0; k < conditions; ++k)
                where.push_back({quantities[k], relation_called(operators[k]), values[k]});
            const web::Optimum optimum = scenario->best(output, maximize != 0, where);
            response().numbers = {double(optimum.exists), optimum.value};
            response().numbers.insert(response().numbers.end(), optimum.position.begin(), optimum.position.end());
            return int(optimum.position.size());
        });
    }
    // `which`: 0 the smallest, 1 the largest, 2 all. Returns how many numbers there are for a point; the first of the
    // numbers is how many there are in all, the second the set of axes; the text has a reason for each point.
    ROOFSLATE_EXPORTED int roofslate_solve(
        const Scenario* scenario,
        int input,
        int output,
        int relation,
        double target,
        int which)
    {
        return answered([&] {
            const web::Solution solution =
                scenario->solve(input, {output, relation_called(relation), target}, static_cast<Which>(which));
            response().numbers = {double(solution.values.size()), double(solution.axes)};
            response().numbers.insert(response().numbers.end(), solution.values.begin(), solution.values.end());
            for (std::size_t k = 0; k < solution.reasons.size(); ++k)
                response().text += (k ? "\n" : "") + solution.reasons[k];
            return int(solution.each);
        });
    }
    // The first of the numbers is the set of axes, then come the derivatives by one input after the other.
    ROOFSLATE_EXPORTED int roofslate_derivatives(
        const Scenario* scenario,
        int output,
        const int* inputs,
        std::size_t count)
    {
        return answered([&] {
            const web::Slopes slopes = scenario->differentiate(output, {inputs, inputs + count});
            response().numbers = {double(slopes.axes)};
            response().numbers.insert(response().numbers.end(), slopes.values.begin(), slopes.values.end());
            return 0;
        });
    }
    // Returns the number of steps, with their values as numbers. The text has a line for each: its quantity, the
    // quantity of the formula, the binding quantity, the position of its origin, the needs, the formula and the remark,
    // apart by tabs.
    ROOFSLATE_EXPORTED int roofslate_explain(const Scenario* scenario, int output)
    {
        return answered([&] {
            const std::vector<web::Step> steps = scenario->explain(output);
            for (const web::Step& step : steps)
            {
                response().numbers.push_back(step.value);
                std::string& text = response().text;
                text += (text.empty() ? "" : "\n") + std::to_string(step.quantity) + "\t" + std::to_string(step.formula)
                    + "\t" + std::to_string(step.condition) + "\t" + std::to_string(int(step.origin)) + "\t";
                for (std::size_t k = 0; k < step.needs.size(); ++k)
                    text += (k ? "," : "") + std::to_string(step.needs[k]);
                text += "\t" + step.text + "\t" + step.remark;
            }
            return int(steps.size());
        });
    }
}
