// What the fuzz targets share: questions read from the bytes that a fuzzer hands over.
#pragma once
#include "support.hpp"
#include <cstdio>
#include <cstdlib>
#include <cstring>

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size);

namespace fuzz
{
    using namespace support;

    inline void check(bool holds, const char* what)
    {
        if (holds)
            return;
        std::fprintf(stderr, "wrong: %s\n", what);
        std::abort();
    }

    class Bytes // zeros once they are used up
    {
    public:
        Bytes(const std::uint8_t* data, std::size_t size) : next_(data), end_(data + size) {}
        bool left() const { return next_ != end_; }
        unsigned byte() { return left() ? *next_++ : 0; }
        int below(int n) { return int(byte() % unsigned(n)); } // n is at most 256
        bool flag() { return byte() & 1; }
        double raw()
        {
            std::uint64_t bits = 0;
            for (int k = 0; k < 8; ++k)
                bits = bits << 8 | byte();
            return math::from_bits(bits);
        }
        double number() // a hard one, an ordinary one, or any
        {
            const unsigned kind = byte();
            if (kind < 80)
                return hard_numbers()[kind % hard_numbers().size()];
            return kind < 240 ? (double(kind) - 150) / 8 : raw();
        }
        const InstructionSet& instruction_set()
        {
            static const std::vector<const InstructionSet*> sets = instruction_sets();
            return *sets[std::size_t(below(int(sets.size())))];
        }

    private:
        const std::uint8_t *next_, *end_;
    };

    inline constexpr Op unary[] = {Op::neg, Op::exp, Op::log, Op::sqrt, Op::ceil, Op::floor};
    inline constexpr Op binary[] = {
        Op::add,
        Op::sub,
        Op::mul,
        Op::div,
        Op::min,
        Op::max,
        Op::pow,
        Op::less,
        Op::less_equal,
        Op::equal,
        Op::both,
        Op::either};
    struct OperationRead
    {
        Op op;
        int arity;
    };
    inline OperationRead read_operation(Bytes& bytes)
    {
        const unsigned k = bytes.byte() % 20;
        return k < 6 ? OperationRead{unary[k], 1}
            : k < 18
            ? OperationRead{binary[k - 6], 2}
            : OperationRead{Op::select, 3};
    }

    inline std::vector<std::size_t> read_shape(Bytes& bytes, std::size_t most_points)
    {
        static constexpr std::size_t lengths[] = {1, 2, 3, 4, 5, 7, 8, 9, 17, 33, 64, 65, 130, 300, 515, 2050};
        std::vector<std::size_t> shape(std::size_t(bytes.below(5)));
        std::size_t points = 1;
        for (std::size_t& n : shape)
        {
            n = lengths[bytes.below(int(std::size(lengths)))];
            n = points * n > most_points ? 2 : n;
            points *= n;
        }
        return shape;
    }

    // A graph over a grid: arrays that are slices of larger ones, reversed and transposed, and operations on them.
    struct GraphRead
    {
        Graph graph;
        std::vector<std::vector<double>> memory;
        std::vector<int> nodes;

        GraphRead(Bytes& bytes, std::size_t most_points) : graph(read_shape(bytes, most_points))
        {
            const std::vector<std::size_t>& shape = graph.shape();
            const int leaves = 1 + bytes.below(4);
            memory.reserve(std::size_t(leaves));
            for (int leaf = 0; leaf < leaves; ++leaf)
            {
                const unsigned wanted = bytes.byte(), layout = bytes.byte();
                View view;
                std::ptrdiff_t next = 1, from = 0;
                for (std::size_t d = 0; d < shape.size(); ++d)
                {
                    const std::size_t k = layout & 64 ? d : shape.size() - 1 - d;
                    if (!(wanted >> k & 1))
                        continue;
                    const std::ptrdiff_t step = next * (layout >> d & 1 ? 2 : 1), length = std::ptrdiff_t(shape[k]);
                    const bool reversed = layout & 128;
                    view.axes |= AxisSet(1) << k;
                    view.stride[k] = reversed ? -step : step;
                    from += reversed ? step * (length - 1) : 0;
                    next = step * length;
                }
                memory.emplace_back(std::size_t(next));
                fill(bytes, memory.back());
                view.data = memory.back().data() + from;
                nodes.push_back(graph.leaf(view));
            }
            for (int operations = 0; operations < 16 && bytes.left(); ++operations)
            {
                if (bytes.byte() < 24)
                    nodes.push_back(graph.constant(bytes.number()));
                const OperationRead o = read_operation(bytes);
                std::array<int, 3> at{-1, -1, -1};
                for (std::size_t k = 0; k < std::size_t(o.arity); ++k)
                    at[k] = any(bytes);
                nodes.push_back(graph.operation(o.op, at[0], at[1], at[2]));
            }
        }
        int any(Bytes& bytes) const // the last ones most often, so that formulas grow
        {
            const std::size_t back = bytes.byte() % (bytes.byte() & 1 ? 3 : 16);
            return nodes[nodes.size() - 1 - back % nodes.size()];
        }
        // All nodes at a point, by the meaning of their operations.
        void at_point(const std::vector<std::size_t>& point, std::vector<double>& values) const
        {
            values.resize(std::size_t(graph.size()));
            for (int i = 0; i < graph.size(); ++i)
            {
                const Node& n = graph[i];
                double x[3] = {};
                for (std::size_t k = 0; k < std::size_t(n.arity()); ++k)
                    x[k] = values[std::size_t(n.argument[k])];
                values[std::size_t(i)] = n.is_constant() ? n.value
                    : n.is_leaf()
                    ? graph.view(n).data[offset(graph.view(n).stride, point)]
                    : evaluate(n.op, nullptr, x);
            }
        }
        static std::ptrdiff_t offset(
            const std::array<std::ptrdiff_t, most_axes>& stride,
            const std::vector<std::size_t>& point)
        {
            std::ptrdiff_t found = 0;
            for (std::size_t k = 0; k < point.size(); ++k)
                found += stride[k] * std::ptrdiff_t(point[k]);
            return found;
        }

    private:
        static void fill(Bytes& bytes, std::vector<double>& values)
        {
            const unsigned kind = bytes.byte();
            const double a = bytes.number(), b = bytes.number(), c = bytes.number();
            for (std::size_t i = 0; i < values.size(); ++i)
                switch (kind % 4)
                {
                case 0: values[i] = a + b * double(i); break; // one way, as axes go
                case 1: values[i] = (i * 0x9e3779b97f4a7c15u >> 40) % 3 ? a : b; break;
                case 2: values[i] = i % 37 == kind / 4 ? c : double((i * 0x9e3779b97f4a7c15u) >> 44) / 65536; break;
                default: values[i] = i < values.size() / 2 ? a : i % 2 ? b : c;
                }
        }
    };
}
