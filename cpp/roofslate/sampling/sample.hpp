// A grid of which one axis is a sample: drawn and asked about block by block, each an ordinary grid with fewer points
// on that axis.
#pragma once
#include "roofslate/folds/folds.hpp"
#include "roofslate/graph/closure.hpp"
#include "roofslate/run/parallel.hpp"
#include "roofslate/sampling/sampler.hpp"
#include <algorithm>
#include <memory>

namespace roofslate
{
    class Sample
    {
    public:
        // `drawn`: quantities among the supplied ones, in the order of the sampler's columns.
        Sample(
            const Registry& registry,
            const Sampler& sampler,
            const std::vector<int>& drawn,
            std::size_t axis,
            std::vector<std::size_t> shape,
            std::vector<Supplied> supplied);
        const Registry& registry() const { return registry_; }
        std::size_t size() const { return shape_[axis_]; }
        std::size_t axis() const { return axis_; }
        std::size_t length() const { return length_; } // of a block
        std::size_t points() const { return size() * others_; }
        bool matters(const Question& question) const { return question.axes() >> axis_ & 1; }

        // The first draws, by several threads: take(state, graph, closure) for each block, with a state that
        // make_state() gives each thread.
        template <class MakeState, class Take>
        void each_block(
            std::size_t draws,
            int threads,
            Progress& progress,
            const MakeState& make_state,
            const Take& take) const
        {
            const std::size_t blocks = (draws + length_ - 1) / length_;
            using State = decltype(make_state());
            struct Thread
            {
                Block block;
                State state;
            };
            in_parallel(
                int(std::min<std::size_t>(std::size_t(std::max(threads, 1)), blocks)),
                blocks,
                progress,
                [&] { return std::unique_ptr<Thread>(new Thread{Block(*this), make_state()}); },
                [&](const std::unique_ptr<Thread>& thread, std::size_t b) {
                    const std::size_t first = b * length_, n = std::min(length_, draws - first);
                    thread->block.draw(*this, first, n);
                    Graph graph(thread->block.shape);
                    Closure closure(registry_, graph, thread->block.supplied);
                    take(thread->state, graph, closure);
                    return n * others_;
                });
        }

    private:
        static constexpr std::size_t points_of_block = 1 << 14, fewest_draws = 16;
        struct Block // of one thread
        {
            explicit Block(const Sample& sample);
            void draw(const Sample& sample, std::size_t first, std::size_t n);
            std::vector<std::size_t> shape;
            std::vector<Supplied> supplied;
            std::vector<Doubles> columns;
            std::vector<double*> to;
        };

        const Registry& registry_;
        const Sampler& sampler_;
        std::size_t axis_;
        std::vector<std::size_t> shape_;
        std::vector<Supplied> supplied_;
        std::vector<std::size_t> drawn_; // positions among the supplied inputs
        std::size_t others_ = 1, length_;
    };

    // Values of blocks in separate memory, contiguous per kept point.
    class SampledValues
    {
    public:
        SampledValues(const Question& full_question, const Sample& sample);
        std::size_t of_draw() const { return others_; } // for each kept point
        template <class Take> void compute(const Question& question, const Take& take) // take(kept point, values, n)
        {
            const std::size_t n = store_values(question);
            for (std::size_t row = 0; row < rows_; ++row)
                take(row, memory_.get() + row * n, n);
        }

    private:
        std::size_t store_values(const Question& question); // returns the number of values per kept point

        std::size_t rows_, others_ = 1;
        std::vector<std::size_t> kept_, folded_;
        Doubles memory_;
    };
}
