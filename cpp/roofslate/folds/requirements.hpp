// The requirements of a question over boxes and at points.
#pragma once
#include "roofslate/folds/boxes.hpp"
#include "roofslate/folds/folds.hpp"

namespace roofslate
{
    inline double relative_width(double low, double high) { return low > 0 ? (high - low) / low : high - low; }
    // Nodes of a question: the values, then both sides of each requirement.
    inline std::vector<int> nodes_of(const Question& question)
    {
        std::vector<int> nodes = question.values;
        for (const Requirement& r : question.requirements)
            nodes.push_back(r.lhs), nodes.push_back(r.rhs);
        return nodes;
    }
    class Requirements
    {
    public:
        explicit Requirements(const Question& question) : all_(question.requirements), first_(question.values.size()) {}
        bool possible(const Boxes& boxes, std::size_t i) const // somewhere in the box, by its bounds
        {
            for (std::size_t k = 0; k < all_.size(); ++k)
            {
                const double lhs = boxes.low(first_ + 2 * k, i), rhs = boxes.high(first_ + 2 * k + 1, i);
                if (all_[k].strict ? lhs >= rhs : lhs > rhs)
                    return false;
            }
            return true;
        }
        bool sure(const Boxes& boxes, std::size_t i) const // everywhere in the box
        {
            for (std::size_t k = 0; k < all_.size(); ++k)
            {
                const double lhs = boxes.high(first_ + 2 * k, i), rhs = boxes.low(first_ + 2 * k + 1, i);
                if (!(all_[k].strict ? lhs < rhs : lhs <= rhs))
                    return false;
            }
            return true;
        }
        double width(const Boxes::Ends& lines, std::size_t i) const
        {
            double all = 0;
            for (std::size_t k = 2 * all_.size(); k-- > 0;)
                all += relative_width(lines.low(first_ + k, i), lines.high(first_ + k, i));
            return all;
        }
        bool met(const Boxes& boxes, std::size_t i) const // by a point
        {
            for (std::size_t k = 0; k < all_.size(); ++k)
            {
                const double lhs = boxes.values(first_ + 2 * k)[i], rhs = boxes.values(first_ + 2 * k + 1)[i];
                if (!(all_[k].strict ? lhs < rhs : lhs <= rhs))
                    return false;
            }
            return true;
        }

    private:
        const std::vector<Requirement>& all_;
        std::size_t first_;
    };
}
