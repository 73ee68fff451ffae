#include "roofslate/sampling/sample.hpp"

namespace roofslate
{
    Sample::Sample(
        const Registry& registry,
        const Sampler& sampler,
        const std::vector<int>& drawn,
        std::size_t axis,
        std::vector<std::size_t> shape,
        std::vector<Supplied> supplied)
        : registry_(registry), sampler_(sampler), axis_(axis), shape_(std::move(shape)), supplied_(std::move(supplied))
    {
        for (const int quantity : drawn)
            for (std::size_t k = 0; k < supplied_.size(); ++k)
                if (supplied_[k].quantity == quantity)
                    drawn_.push_back(k);
        for (std::size_t k = 0; k < shape_.size(); ++k)
            others_ *= k == axis ? 1 : shape_[k];
        length_ = std::min(size(), std::max(fewest_draws, points_of_block / others_));
    }

    Sample::Block::Block(const Sample& sample) : shape(sample.shape_), supplied(sample.supplied_)
    {
        for (const std::size_t k : sample.drawn_)
        {
            columns.push_back(aligned_doubles(sample.length_ + widest_strip));
            to.push_back(columns.back().get());
            View& view = supplied[k].view;
            view.data = to.back(), view.axes = AxisSet(1) << sample.axis_;
            view.stride = {}, view.stride[sample.axis_] = 1;
        }
    }
    void Sample::Block::draw(const Sample& sample, std::size_t first, std::size_t n)
    {
        sample.sampler_.draw(first, n, to.data());
        shape[sample.axis_] = n;
    }

    SampledValues::SampledValues(const Question& full_question, const Sample& sample)
        : rows_(full_question.graph.points(full_question.kept()))
    {
        for (std::size_t k = 0; k < full_question.graph.shape().size(); ++k)
            if (full_question.kept() >> k & 1)
                kept_.push_back(k);
            else if (full_question.axes() >> k & 1) // the sample is the row of the engine
                folded_.insert(k == sample.axis() ? folded_.begin() : folded_.end(), k);
        for (const std::size_t k : folded_)
            others_ *= k == sample.axis() ? 1 : full_question.graph.shape()[k];
        memory_ = aligned_doubles(rows_ * others_ * sample.length() + widest_strip);
    }
    std::size_t SampledValues::store_values(const Question& question)
    {
        const std::vector<std::size_t>& shape = question.graph.shape();
        Output output{question.values.front(), memory_.get(), {}, true};
        std::ptrdiff_t n = 1;
        for (const std::size_t k : folded_)
            output.stride[k] = n, n *= std::ptrdiff_t(shape[k]);
        std::ptrdiff_t step = n;
        for (auto k = kept_.rbegin(); k != kept_.rend(); ++k)
            output.stride[*k] = step, step *= std::ptrdiff_t(shape[*k]);
        store(question.graph, {output}, {});
        return std::size_t(n);
    }
}
