// Quantities from numbers only: the fast path of a closure without grid, graph or explanation.
#pragma once
#include "roofslate/graph/closure.hpp"
#include "roofslate/graph/defaults.hpp"
#include <memory>
#include <optional>

namespace roofslate
{
    struct Given // a quantity at one point
    {
        int quantity;
        double value;
    };

    // The numbers that a closure of the same supply would fold to, bit for bit.
    class Numbers
    {
    public:
        Numbers(const Registry& registry, const std::vector<Given>& given);
        double operator[](int quantity);                                          // throws MissingInput
        std::optional<double> find(int quantity);                                 // none: an input is missing
        bool was_used(int quantity) const { return state_[std::size_t(quantity)] != State::given; }

    private:
        enum class State : char
        {
            unknown,
            in_work,
            given, // and not used so far
            known
        };
        struct Missing
        {
        };
        double value_of(int quantity);
        double compute(const Entry& entry);
        double result_of(const Entry& e, std::size_t first, int position);
        double elsewhere(const Entry& e);

        const Registry& registry_;
        const std::vector<Given>& given_;
        QuantitySet supplied_;
        std::vector<State> state_;
        std::unique_ptr<double[]> value_; // of those given or known
        std::vector<double> results_; // of the tapes in work, one after the other
        std::vector<int> changed_;    // quantities that whoever asks changed
    };
}
