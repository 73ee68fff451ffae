// Folds: what is skipped by bounds changes nothing, nor does the instruction set; the best is that of a plain loop.
#include "bytes.hpp"
#include "roofslate/folds/folds.hpp"

using namespace fuzz;

namespace
{
    bool same(const std::vector<double>& a, const std::vector<double>& b)
    { return std::equal(a.begin(), a.end(), b.begin(), b.end(), same_bits); }

    // Small grids only: point by point.
    void check_best(const GraphRead& r, const Question& q, const Optima& found)
    {
        const std::vector<std::size_t>& shape = r.graph.shape();
        std::vector<double> values, least(found.values.size(), undefined);
        std::vector<std::int64_t> where(least.size(), nowhere);
        std::vector<std::size_t> point(shape.size(), 0);
        const AxisSet kept = q.kept();
        do
        {
            std::size_t place = 0, index = 0;
            for (std::size_t k = 0; k < shape.size(); ++k)
                if (kept >> k & 1)
                    place = place * shape[k] + point[k];
                else if (q.folded >> k & 1)
                    index = index * shape[k] + point[k];
            r.at_point(point, values);
            const double value = values[std::size_t(q.values[0])];
            bool met = value == value;
            for (const Requirement& s : q.requirements)
            {
                const double lhs = values[std::size_t(s.lhs)], rhs = values[std::size_t(s.rhs)];
                met = met && (s.strict ? lhs < rhs : lhs <= rhs);
            }
            if (met && (where[place] == nowhere || value < least[place]))
                least[place] = value, where[place] = std::int64_t(index);
        }
        while (next_point(point, shape));
        check(where == found.where && same(least, found.values), "the best is not that of a plain loop");
    }
}

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size)
{
    Bytes bytes(data, size);
    const InstructionSet& set = bytes.instruction_set();
    const unsigned kind = bytes.byte(), requirements = bytes.byte();
    AxisSet folded = bytes.byte();
    std::vector<double> edges{bytes.number(), bytes.number(), bytes.number()};
    GraphRead r(bytes, 1200);
    const std::size_t axes = r.graph.shape().size();
    folded &= (AxisSet(1) << axes) - 1;

    Question q{r.graph, {r.nodes.back()}, {}, folded};
    for (unsigned k = 0; k < (requirements & 3) % 3; ++k)
        q.requirements.push_back(
            {r.nodes[(requirements >> 2) % r.nodes.size()],
             r.nodes[(requirements >> 5) % r.nodes.size()],
             bool(requirements >> (k + 6) & 1)});
    Options options;
    options.threads = kind >= 252 ? 2 : 1;
    const auto both_ways = [&](const auto& fold) {
        const auto plain = fold(false);
        const Using use(set);
        return std::make_pair(plain, fold(true));
    };
    switch (kind % 5)
    {
    case 0:
    {
        const auto [plain, pruned] = both_ways([&](bool prune) { return best(q, options, prune); });
        check(plain.where == pruned.where && same(plain.values, pruned.values), "the best of a search is another one");
        if (r.graph.points(AxisSet(-1)) <= 100)
            check_best(r, q, plain);
        break;
    }
    case 1:
    {
        q.values.clear();
        const auto [plain, pruned] = both_ways([&](bool prune) { return count(q, options, prune); });
        check(plain == pruned, "a search counts otherwise");
        break;
    }
    case 2:
    {
        std::sort(edges.begin(), edges.end());
        edges.erase(std::unique(edges.begin(), edges.end()), edges.end());
        if (std::any_of(edges.begin(), edges.end(), [](double x) { return x - x != 0; }) || edges.size() < 2)
            return 0;
        q.requirements.clear();
        const auto [plain, pruned] = both_ways([&](bool prune) { return histogram(q, edges, options, prune); });
        check(plain == pruned, "a histogram by bounds is another one");
        break;
    }
    case 3:
    {
        q.folded = (AxisSet(1) << axes) - 1;
        for (std::size_t k = 1; k < 1 + kind / 5 % most_objectives; ++k)
            q.values.push_back(r.nodes[r.nodes.size() - 1 - k % r.nodes.size()]);
        const auto [plain, pruned] = both_ways([&](bool prune) { return pareto(q, options, prune); });
        check(plain == pruned, "the frontier of a search is another one");
        break;
    }
    default:
    {
        q.requirements.clear();
        const std::vector<double> positions{0, 0.25, double(requirements) / 255, 1};
        const auto [plain, other] = both_ways([&](bool) { return quantiles(q, positions, options); });
        check(same(plain, other), "quantiles on another instruction set");
    }
    }
    return 0;
}
