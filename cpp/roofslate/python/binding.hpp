// What the files of the binding share.
#pragma once
#include "roofslate/graph/closure.hpp"
#include "roofslate/graph/grid.hpp"
#include "roofslate/language/error.hpp"
#include "roofslate/memory/pool.hpp"
#include "roofslate/memory/promise.hpp"
#include "roofslate/python/gil.hpp"
#include "roofslate/run/options.hpp"
#include <pybind11/numpy.h>
#include <pybind11/pybind11.h>
#include <pybind11/stl.h>
#include <algorithm>
#include <exception>

namespace roofslate::binding
{
    namespace py = pybind11;
    using Array = py::array_t<double>;
    using Input = std::tuple<std::string, Array, std::vector<std::size_t>>; // quantity, values, axes of the grid

    // The registry of the caller, kept alive: its context's, otherwise the process's.
    struct Current
    {
        Current();
        py::object object; // None: the built-in quantities
        const Registry& registry;
    };

    inline auto adapted(const Array& array) // as xtensor sees it, without a copy
    {
        std::vector<std::size_t> shape;
        std::vector<std::ptrdiff_t> strides;
        for (py::ssize_t d = 0; d < array.ndim(); ++d)
        {
            shape.push_back(std::size_t(array.shape(d)));
            strides.push_back(array.strides(d) / py::ssize_t(sizeof(double)));
        }
        return xt::adapt(array.data(), std::size_t(array.size()), xt::no_ownership(), shape, strides);
    }
    inline std::vector<Supplied> supplied_by(
        const Registry& registry,
        const std::vector<Input>& inputs,
        bool differentiated = false)
    {
        std::vector<Supplied> supplied;
        for (const auto& [name, array, axes] : inputs)
        {
            const int quantity = registry.at(name);
            supplied.push_back(
                {quantity, view_of(adapted(array), axes), differentiated && !registry[quantity].spec->is_choice()});
        }
        return supplied;
    }

    // Progress and Ctrl-C, polled by the engine on the calling thread.
    class Reporter
    {
    public:
        explicit Reporter(const py::object& callback) : callback_(callback) {}
        bool operator()(std::size_t done, std::size_t total)
        {
            return with_gil([&] {
                const bool continues = PyErr_CheckSignals() == 0 && report(done, total);
                if (!continues)
                    thrown_ = std::make_exception_ptr(py::error_already_set());
                return continues;
            });
        }
        void rethrow() const { std::rethrow_exception(thrown_); }

    private:
        bool report(std::size_t done, std::size_t total) const
        {
            if (callback_.is_none())
                return true;
            PyObject* const answer = PyObject_CallFunction(
                callback_.ptr(),
                "KK",
                static_cast<unsigned long long>(std::min(done, total)),
                static_cast<unsigned long long>(total));
            Py_XDECREF(answer);
            return answer;
        }

        const py::object& callback_;
        std::exception_ptr thrown_;
    };

    // A result of the engine, in memory that returns to the pool.
    struct Result
    {
        py::array array;
        bool used_before;
    };
    template <class T> Result allocate(
        const std::vector<py::ssize_t>& shape,
        std::vector<py::ssize_t> strides,
        std::size_t points) // strides count values
    {
        auto* const block = new Block(take_block(points * sizeof(T)));
        const py::capsule owner(block, [](void* p) {
            give_block(*static_cast<Block*>(p));
            delete static_cast<Block*>(p);
        });
        for (py::ssize_t& stride : strides)
            stride *= py::ssize_t(sizeof(T));
        return {py::array_t<T>(shape, strides, static_cast<T*>(block->data), owner), block->used_before};
    }

    void bind_evaluate(py::module_& m);
    void bind_grid(py::module_& m);
    void bind_current_registry(py::module_& m);
    void bind_definitions(py::module_& m);
    void bind_sampling(py::module_& m);
    void bind_simulation(py::module_& m);
    void bind_machine(py::module_& m);
    void bind_texts(py::module_& m);
    void bind_benchmarks(py::module_& m);
    void bind_units(py::module_& m);
}
