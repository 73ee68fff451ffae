// The binding: a table of contents. It names no quantity; whatever the registry holds is reached by its name.
#include "roofslate/python/binding.hpp"
#include <exception>

using namespace roofslate;
using namespace roofslate::binding;

namespace
{
    void translate(std::exception_ptr thrown)
    {
        try
        {
            if (thrown)
                std::rethrow_exception(thrown);
        }
        catch (const Error& e)
        {
            const py::object kind = py::module_::import("roofslate.errors").attr(e.kind());
            PyErr_SetObject(kind.ptr(), py::str(e.what()).ptr());
        }
        catch (const std::bad_alloc&)
        {
            const py::object kind = py::module_::import("roofslate.errors").attr("OutOfMemory");
            PyErr_SetString(kind.ptr(), "the system refused the memory that this would take; nothing was computed");
        }
    }
}

PYBIND11_MODULE(_core, m, py::mod_gil_not_used())
{
    m.doc() = "The compiled core: the registry of quantities and the grid engine.";
    py::register_local_exception_translator(&translate);
    bind_units(m);
    bind_evaluate(m);
    bind_current_registry(m);
    bind_definitions(m);
    bind_sampling(m);
    bind_grid(m);
    bind_simulation(m);
    bind_machine(m);
    bind_texts(m);
    bind_benchmarks(m);
}
