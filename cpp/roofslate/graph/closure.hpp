// From quantities to a graph: a quantity with all it needs, down to what was supplied.
#pragma once
#include "roofslate/graph/defaults.hpp"
#include "roofslate/graph/graph.hpp"
#include "roofslate/language/registry.hpp"

namespace roofslate
{
    struct Supplied
    {
        int quantity = -1;
        View view;
        bool variable = false; // something is differentiated by it
    };

    // Builds graphs from quantities. A supplied quantity cuts the graph; one that is missing is named with the chain
    // that needs it.
    class Closure
    {
    public:
        enum class Visits
        {
            supplied, // a quantity that rests on nothing supplied is a constant, whose needs are not visited
            all,
        };
        Closure(
            const Registry& registry,
            Graph& graph,
            const std::vector<Supplied>& supplied,
            Visits visits = Visits::supplied);
        int node(int quantity);              // of a quantity, with all it needs; throws MissingInput
        bool was_used(int quantity) const { return used_[std::size_t(quantity)] != 0; }
        const std::vector<int>& visited() const { return visited_; } // quantities in order of computation

        struct Turn // a max, min or root, and its position
        {
            int node;
            const Entry* entry;
            int position;
        };
        const std::vector<Turn>& turns() const { return turns_; } // all that are no literals

    private:
        Closure(const Closure& outer, int changed, int node); // the same supply, but for one quantity
        int elsewhere(const Entry& entry);
        double default_of(const Entry& entry);
        int instantiate(const Entry& entry, std::size_t first, int position);
        int without_neutral(Op op, int first, int second) const;
        bool is_spend_of_variable(const Entry& entry, std::size_t first, const Operation& select) const;
        int spent(int is_zero, int nothing, int product);
        [[noreturn]] void missing() const;
        [[noreturn]] void missing_one_of_circle(int quantity) const;
        std::string advice() const;

        const Registry& registry_;
        Graph& graph_;
        std::vector<int> node_of_;
        std::vector<char> used_;
        QuantitySet supplied_;
        bool visits_all_ = false;
        std::vector<std::pair<int, int>> given_; // what was supplied, and its node
        std::vector<int> changed_;               // quantities that a closure around this one changed
        std::vector<int> visited_;
        std::vector<Turn> turns_;
        bool differentiated_ = false;
        std::vector<int> path_; // from the wanted quantity to the one in work
        std::vector<int> positions_; // nodes of the tapes in work, one after the other
    };

    // The numbers that a closure took: those supplied, in their order, and those it has by default. Choices are none.
    std::vector<int> numbers_taken(
        const Registry& registry,
        const Closure& closure,
        const std::vector<Supplied>& supplied);
}
