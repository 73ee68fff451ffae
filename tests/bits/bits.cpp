// Digests of the answers to random questions, a line each: the same on every processor and instruction set.
// `roofslate_bits FIRST LAST` asks the questions of these numbers on each set of this machine and ends with status 1
// where two of them disagree. python/tools/emulated_bits.py compares the lines of two processors.
#include "roofslate/folds/folds.hpp"
#include "roofslate/language/error.hpp"
#include "roofslate/language/registry.hpp"
#include "roofslate/run/evaluate.hpp"
#include "support.hpp"
#include <cinttypes>
#include <cstdio>
#include <cstdlib>

namespace
{
    using namespace support;

    class Digest // FNV-1a over numbers; each NaN is like another
    {
    public:
        void add(std::uint64_t word)
        {
            for (int k = 0; k < 8; ++k)
                state_ = (state_ ^ (word >> (8 * k) & 255)) * 0x100000001b3u;
        }
        void add(std::int64_t count) { add(std::uint64_t(count)); }
        void add(double x) { add(math::bits(x == x ? x : undefined)); }
        void add(float x) { add(double(x)); }
        template <class T> void add(const std::vector<T>& values)
        {
            add(std::uint64_t(values.size()));
            for (const T& x : values)
                add(x);
        }
        std::uint64_t value() const { return state_; }

    private:
        std::uint64_t state_ = 0xcbf29ce484222325u;
    };

    // Some nodes of a graph as doubles and as floats.
    void add_graph(Digest& digest, Random& random, const RandomGraph& r)
    {
        for (int k = 0; k < 3; ++k)
        {
            const int node = r.nodes[std::size_t(below(random, int(r.nodes.size())))];
            std::vector<double> doubles;
            Output o = output_in_order(r.graph, node, doubles);
            store(r.graph, {o}, {});
            digest.add(doubles);
            std::vector<float> floats(doubles.size());
            o.data = floats.data(), o.storage = Storage::float32;
            store(r.graph, {o}, {});
            digest.add(floats);
        }
    }
    void add_folds(Digest& digest, Random& random, RandomGraph& r)
    {
        const auto any = [&] { return r.nodes[std::size_t(below(random, int(r.nodes.size())))]; };
        const AxisSet all = (AxisSet(1) << r.graph.shape().size()) - 1;
        Question q{r.graph, {r.nodes.back()}, {}, AxisSet(random()) & all};
        const std::vector<double> edges{-2, 0, 0.1, 1, 2.5, 700};
        digest.add(quantiles(q, {0, 0.3, 1}, {}));
        const int left = any(), right = any();
        for (const bool prune : {false, true})
        {
            digest.add(histogram(q, edges, {}, prune));
            Question met{r.graph, {r.nodes.back()}, {{left, right, false}}, q.folded};
            const Optima found = best(met, {}, prune);
            digest.add(found.values), digest.add(found.where);
            Question front{r.graph, {r.nodes.back(), left}, {}, all};
            digest.add(pareto(front, {}, prune));
            met.values.clear();
            digest.add(count(met, {}, prune));
        }
    }

    double random_input(Random& random, const Spec& spec)
    {
        if (spec.is_choice())
            return double(below(random, int(spec.high) + 1));
        if (spec.high <= 1)
            return uniform(random, std::max(spec.low, 0.01), spec.high);
        return std::min(spec.high, std::max(spec.low, 0.0) + std::floor(math::exp(uniform(random, -1, 12))) + 1);
    }
    // A computed quantity over three of the inputs that it rests on.
    void add_quantity(Digest& digest, Random& random)
    {
        const Registry& known = registry();
        int wanted;
        do
            wanted = below(random, known.size());
        while (!known[wanted].computed());
        std::vector<int> reached{wanted}, leaves;
        std::vector<char> seen(std::size_t(known.size()), 0);
        for (std::size_t k = 0; k < reached.size(); ++k)
        {
            const Entry& e = known[reached[k]];
            std::vector<int> next = e.needs;
            if (e.fallback >= 0)
                next.push_back(e.fallback);
            for (const int need : next)
                if (!std::exchange(seen[std::size_t(need)], 1))
                    reached.push_back(need);
            if (!e.computed() && e.fallback < 0)
                leaves.push_back(reached[k]);
        }
        Inputs inputs;
        for (std::size_t k = 0; k < leaves.size(); ++k)
        {
            const Entry& e = known[leaves[k]];
            Labelled input{xt::xarray<double>(random_input(random, *e.spec)), {}};
            if (!e.spec->is_choice() && below(random, int(leaves.size())) < 4)
            {
                input.values.resize({std::size_t(1 + below(random, 9))});
                for (double& x : input.values)
                    x = random_input(random, *e.spec);
                input.axes = {"axis " + std::to_string(k % 3) + " of " + std::to_string(input.values.size())};
            }
            inputs.emplace_back(std::string(e.name), std::move(input));
        }
        try
        {
            for (const Labelled& result : evaluate({std::string(known[wanted].name)}, inputs))
                digest.add(std::vector<double>(result.values.begin(), result.values.end()));
        }
        catch (const Error& error)
        {
            digest.add(std::uint64_t(error.what()[0]));
        }
    }

    std::uint64_t answer(std::uint64_t number)
    {
        Digest digest;
        Random random(number);
        RandomGraph r(random, 4000, number % 2, 9);
        add_graph(digest, random, r);
        add_folds(digest, random, r);
        for (int k = 0; k < 8; ++k)
            add_quantity(digest, random);
        return digest.value();
    }
}

int main(int count, char** words)
{
    if (count != 3)
        return 2;
    const std::uint64_t first = std::strtoull(words[1], nullptr, 10), last = std::strtoull(words[2], nullptr, 10);
    const std::vector<const InstructionSet*> sets = instruction_sets();
    for (const InstructionSet* set : sets)
        std::fprintf(stderr, "%s ", set->name);
    std::fprintf(stderr, "\n");
    int status = 0;
    for (std::uint64_t number = first; number < last; ++number)
    {
        std::vector<std::uint64_t> answers;
        for (const InstructionSet* set : sets)
        {
            const Using use(*set);
            answers.push_back(answer(number));
            if (answers.back() != answers.front())
            {
                std::fprintf(
                    stderr,
                    "question %" PRIu64 ": %s has other bits than %s\n",
                    number,
                    set->name,
                    sets[0]->name);
                status = 1;
            }
        }
        std::printf("%" PRIu64 " %016" PRIx64 "\n", number, answers.front());
    }
    return status;
}
