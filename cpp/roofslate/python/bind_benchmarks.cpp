// The binding of the benchmarks' yardsticks.
#include "benchmarks/limits.hpp"
#include "benchmarks/repeat.hpp"
#include "roofslate/python/binding.hpp"

namespace roofslate::binding
{
    namespace
    {
        void repeated(
            const std::string& output,
            const std::vector<std::size_t>& shape,
            const std::vector<Input>& inputs,
            Array& out,
            int calls,
            int threads)
        {
            const Current current;
            if (out.ndim() != py::ssize_t(shape.size()) || !std::equal(shape.begin(), shape.end(), out.shape()))
                throw axis_error("out must have the shape of the grid, and the quantity must vary along all of it");
            std::array<std::ptrdiff_t, most_axes> stride{};
            for (std::size_t d = 0; d < shape.size(); ++d)
                stride[d] = out.strides(py::ssize_t(d)) / py::ssize_t(sizeof(double));
            repeat_engine(
                current.registry,
                current.registry.at(output),
                shape,
                supplied_by(current.registry, inputs),
                out.mutable_data(),
                stride,
                calls,
                threads);
        }
    }

    void bind_benchmarks(py::module_& m)
    {
        m.def(
            "repeat_engine",
            &repeated,
            py::arg("quantity"),
            py::arg("shape"),
            py::arg("inputs"),
            py::arg("out").noconvert(),
            py::arg("calls"),
            py::arg("threads") = 1,
            "The engine's own call, over and over: for benchmarks.");
        m.def(
            "fill_seconds",
            [](py::array_t<double, py::array::c_style> data, int threads, bool stream) {
                double* const to = data.mutable_data();
                const WithoutGil released;
                return fill_seconds(to, std::size_t(data.size()), std::max(threads, 1), stream);
            },
            py::arg("data").noconvert(),
            py::arg("threads"),
            py::arg("stream"),
            "Seconds in which a contiguous array is filled, plainly or with stores that bypass the CPU cache.");
    }
}
