// Branch and bound on the boxes of a grid. A goal decides about a box with known bounds, and takes the points of
// small ones.
#pragma once
#include "roofslate/folds/requirements.hpp"
#include "roofslate/run/parallel.hpp"
#include <memory>

namespace roofslate
{
    struct Waiting
    {
        Box box;
        std::array<double, most_objectives> bound{}; // as the goal wants to have them
        std::int64_t first = 0; // index of its first point
    };

    // Members of a goal:
    // - `hopeless(waiting)`: true if no point of a box that waited can matter any more.
    // - `wants(boxes, i, waiting)`: false if the bounds settle box i. Else sets the bounds to wait with.
    // - `width(boxes, i)`: width of the bounds of box i.
    // - `ordered`: true if boxes with low bounds come first.
    // - `take(boxes, first, n, index)`: takes computed points of a small box. `index(i)` is the position of point i.
    class Search
    {
    public:
        // many where the order is all the same
        template <class Goal> static constexpr std::size_t boxes_at_once = Goal::ordered ? 64 : 128;
        template <class Goal> static constexpr std::size_t points_of_leaf = Goal::ordered ? 64 : 128;

        Search(Boxes& boxes, const std::vector<std::size_t>& shape, AxisSet folded, Progress& progress);
        template <class Goal> void run(Goal& goal, const Box& box_of_all);

    private:
        std::int64_t index_of(const Box& box) const; // of its first point
        std::int64_t index_of(const Box& box, std::size_t point) const;
        template <class Goal> void take_points(Goal& goal, const std::vector<Box>& leaves);
        template <class Goal> void choose_axes(const Goal& goal, const std::vector<Box>& boxes);
        template <class Goal> void offer(Goal& goal, std::vector<Waiting>& fresh);

        Boxes& boxes_;
        std::array<std::int64_t, most_axes> index_{};
        Progress& progress_;
        std::vector<int> axis_;
        std::vector<Box> children_;
    };

    inline Search::Search(Boxes& boxes, const std::vector<std::size_t>& shape, AxisSet folded, Progress& progress)
        : boxes_(boxes), progress_(progress)
    {
        std::int64_t next = 1;
        for (std::size_t k = shape.size(); k-- > 0;)
            if (folded >> k & 1)
                index_[k] = next, next *= std::int64_t(shape[k]);
    }
    inline std::int64_t Search::index_of(const Box& box) const
    {
        std::int64_t index = 0;
        for (const int k : boxes_.axes())
            index += std::int64_t(box.low[std::size_t(k)]) * index_[std::size_t(k)];
        return index;
    }
    inline std::int64_t Search::index_of(const Box& box, std::size_t point) const
    {
        std::int64_t index = 0;
        for (auto k = boxes_.axes().rbegin(); k != boxes_.axes().rend(); ++k)
        {
            const std::size_t axis = std::size_t(*k), length = box.high[axis] - box.low[axis];
            index += std::int64_t(box.low[axis] + point % length) * index_[axis];
            point /= length;
        }
        return index;
    }
    template <class Goal> void Search::take_points(Goal& goal, const std::vector<Box>& leaves)
    {
        for (std::size_t done = 0, next = 0; done < leaves.size();)
        {
            while (next < leaves.size() && boxes_.add_points(leaves[next]))
                ++next;
            boxes_.compute();
            for (std::size_t at = 0; done < next; ++done)
            {
                const std::size_t n = std::size_t(boxes_.points(leaves[done]));
                goal.take(boxes_, at, n, [&](std::size_t i) { return index_of(leaves[done], i); });
                at += n;
            }
        }
    }
    // The axis whose own range, with all others at their middle, leaves the bounds widest.
    template <class Goal> void Search::choose_axes(const Goal& goal, const std::vector<Box>& boxes)
    {
        const std::size_t d = boxes_.axes().size(), at_once = LaneProgram::capacity / d;
        axis_.assign(boxes.size(), -1);
        for (std::size_t first = 0; first < boxes.size(); first += at_once)
        {
            const std::size_t last = std::min(boxes.size(), first + at_once);
            boxes_.bound_lines(boxes.data() + first, last - first);
            for (std::size_t b = first; b < last; ++b)
            {
                double widest = -1;
                for (std::size_t j = 0; j < d; ++j)
                {
                    const std::size_t axis = std::size_t(boxes_.axes()[j]),
                                      length = boxes[b].high[axis] - boxes[b].low[axis];
                    if (length < 2)
                        continue;
                    double width = goal.width(boxes_.of_lines(), (b - first) * d + j);
                    width = (width >= 0 ? std::min(width, 1e300) : 1e300) + 1e-12 * double(length);
                    if (width > widest
                        || (width == 1e300
                            && length > boxes[b].high[std::size_t(axis_[b])] - boxes[b].low[std::size_t(axis_[b])]))
                        widest = width, axis_[b] = int(axis);
                }
            }
        }
    }
    template <class Goal> void Search::offer(Goal& goal, std::vector<Waiting>& fresh)
    {
        for (std::size_t first = 0; first < children_.size(); first += LaneProgram::capacity)
        {
            const std::size_t n = std::min(children_.size() - first, LaneProgram::capacity);
            boxes_.bound(children_.data() + first, n);
            for (std::size_t i = 0; i < n; ++i)
            {
                Waiting w{children_[first + i], {}, 0};
                w.first = index_of(w.box);
                if (goal.wants(boxes_, i, w))
                    fresh.push_back(w);
            }
        }
    }
    template <class Goal> void Search::run(Goal& goal, const Box& box_of_all)
    {
        std::vector<Waiting> stack, fresh;
        children_.reserve(2 * boxes_at_once<Goal>);
        std::vector<Box> open, leaves;
        children_.assign(1, box_of_all);
        offer(goal, stack);
        while (!stack.empty() && !progress_.stopped())
        {
            open.clear(), leaves.clear(), fresh.clear();
            while (!stack.empty() && open.size() + leaves.size() < boxes_at_once<Goal>)
            {
                const Waiting w = stack.back();
                stack.pop_back();
                if (!goal.hopeless(w))
                    (boxes_.points(w.box) <= double(points_of_leaf<Goal>) ? leaves : open).push_back(w.box);
            }
            take_points(goal, leaves);
            if (!open.empty())
            {
                choose_axes(goal, open);
                children_.clear();
                for (std::size_t b = 0; b < open.size(); ++b)
                {
                    const std::size_t axis = std::size_t(axis_[b]);
                    Box low = open[b], high = open[b];
                    low.high[axis] = high.low[axis] = low.low[axis] + (low.high[axis] - low.low[axis]) / 2;
                    children_.push_back(low), children_.push_back(high);
                }
                offer(goal, fresh);
                if (Goal::ordered) // the best bound comes up next
                    std::sort(fresh.begin(), fresh.end(), [](const Waiting& a, const Waiting& b) {
                        return a.bound > b.bound || (a.bound == b.bound && a.first > b.first);
                    });
                stack.insert(stack.end(), fresh.begin(), fresh.end());
            }
            progress_.tell();
        }
    }

    // Parts of a box for several threads, cut across its longest axis.
    inline std::vector<Box> parts_of(const Box& box_of_all, const std::vector<int>& axes, std::size_t count)
    {
        std::size_t longest = 0, length = 0;
        for (const int k : axes)
            if (const std::size_t n = box_of_all.high[std::size_t(k)] - box_of_all.low[std::size_t(k)]; n > length)
                longest = std::size_t(k), length = n;
        count = std::max<std::size_t>(1, std::min(count, length));
        std::vector<Box> parts(count, box_of_all);
        for (std::size_t p = 0; p < count && length; ++p)
        {
            parts[p].low[longest] = box_of_all.low[longest] + std::uint32_t(length * p / count);
            parts[p].high[longest] = box_of_all.low[longest] + std::uint32_t(length * (p + 1) / count);
        }
        return parts;
    }
    // Searches the folded axes for each point of the kept ones, with a separate goal. If the order of boxes does not
    // matter, several threads may share a point: take(point, goal) then adds up, and is run by one at a time.
    template <class MakeGoal, class Take> void search_kept_points(
        const Question& question,
        const Options& options,
        const MakeGoal& make_goal,
        const Take& take)
    {
        using Goal = decltype(make_goal());
        constexpr double fewest_shared_points = 1 << 20;
        constexpr std::size_t parts_of_thread = 16;
        const std::vector<std::size_t>& shape = question.graph.shape();
        const AxisSet kept_axes = question.kept();
        const std::size_t kept_points = question.graph.points(kept_axes),
                          threads = std::size_t(std::max(options.threads, 1));
        const bool shared = !Goal::ordered && threads > 1 && kept_points < parts_of_thread * threads
            && double(question.graph.points(question.axes())) >= fewest_shared_points;
        const std::size_t parts = shared ? parts_of_thread * threads : 1;
        Progress progress(options, kept_points * parts);
        std::mutex mutex;
        in_parallel(
            int(std::min(threads, kept_points * parts)),
            kept_points * parts,
            progress,
            [&] {
                const std::vector<int> nodes = nodes_of(question);
                return std::make_unique<Boxes>(
                    question.graph,
                    nodes,
                    question.values.empty() ? nodes.size() : question.values.size(),
                    question.axes(),
                    instruction_set());
            },
            [&](std::unique_ptr<Boxes>& boxes, std::size_t c) {
                const std::size_t point = c / parts;
                Box box_of_all = boxes->full();
                for (std::size_t k = shape.size(), rest = point; k-- > 0;)
                    if (kept_axes >> k & 1)
                    {
                        box_of_all.low[k] = std::uint32_t(rest % shape[k]), box_of_all.high[k] = box_of_all.low[k] + 1;
                        rest /= shape[k];
                    }
                const std::vector<Box> all = parts_of(box_of_all, boxes->axes(), parts);
                if (c % parts < all.size())
                {
                    auto goal = make_goal();
                    Search(*boxes, shape, question.folded, progress).run(goal, all[c % parts]);
                    const std::lock_guard<std::mutex> lock(mutex);
                    take(point, goal);
                }
                return std::size_t(1);
            });
    }

    // Brute force: nothing is given up.
    template <class Goal> struct Unpruned : Goal
    {
        using Goal::Goal;
        bool hopeless(const Waiting&) const { return false; }
        bool wants(const Boxes&, std::size_t, Waiting&) const { return true; }
    };
}
