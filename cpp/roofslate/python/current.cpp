// The registry of a caller: its context's, otherwise the process's.
#include "roofslate/python/binding.hpp"
#include <mutex>
#include <pthread.h>

namespace roofslate::binding
{
    namespace
    {
        struct Process // never destroyed: threads may look on while the process ends
        {
            PyObject* scope = nullptr; // a context variable: the registry of a context, None outside of all scopes
            std::mutex mutex;          // held for a moment, without a call into Python
            py::object registry = py::none();
        };
        Process& process()
        {
            static Process& p = *new Process;
            return p;
        }
        const int fork_handlers = pthread_atfork( // as for the pool
            [] { process().mutex.lock(); },
            [] { process().mutex.unlock(); },
            [] { process().mutex.unlock(); });
        py::object current_object()
        {
            PyObject* scope_value = nullptr;
            if (PyContextVar_Get(process().scope, nullptr, &scope_value) < 0)
                throw py::error_already_set();
            py::object of_context = py::reinterpret_steal<py::object>(scope_value);
            if (of_context && !of_context.is_none())
                return of_context;
            const std::lock_guard<std::mutex> lock(process().mutex);
            return process().registry;
        }
        // False if another one has come in between.
        bool exchange_registry(const py::object& expected, py::object replacement)
        {
            (void)py::cast<const Registry&>(replacement);
            const std::lock_guard<std::mutex> lock(process().mutex);
            if (!process().registry.is(expected))
                return false;
            std::swap(process().registry, replacement); // the old one is let go after the lock
            return true;
        }
    }

    Current::Current()
        : object(current_object()),
          registry(object.is_none() ? roofslate::registry() : py::cast<const Registry&>(object))
    {
    }

    void bind_current_registry(py::module_& m)
    {
        process().scope = PyContextVar_New("roofslate_registry", Py_None);
        if (!process().scope)
            throw py::error_already_set();
        m.attr("SCOPE") = py::reinterpret_borrow<py::object>(process().scope);
        m.def("current_registry", &current_object, "The registry that the caller sees; None: the built-in quantities.");
        m.def(
            "exchange_registry",
            &exchange_registry,
            py::arg("expected"),
            py::arg("wanted"),
            "Makes another registry that of the process; False where it is not the expected one any more.");
    }
}
