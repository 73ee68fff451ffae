// The GIL for threads that may outlive the interpreter.
#pragma once
#include <pybind11/pybind11.h>
#include <chrono>
#include <thread>
#if defined(__GLIBCXX__)
#include <cxxabi.h>
#endif

namespace roofslate::binding
{
    // Before 3.14, Python ends a thread that asks for the GIL of an ending interpreter by unwinding its stack:
    // through destructors, and away from other threads that still use it. Such a thread waits for the end of the
    // process instead, as 3.14 and later do.
    template <class Call> auto outliving(const Call& call)
    {
#if defined(__GLIBCXX__)
        try
        {
            return call();
        }
        catch (const abi::__forced_unwind&)
        {
            for (;;)
                std::this_thread::sleep_for(std::chrono::hours(1));
        }
#else
        return call();
#endif
    }

    // Lets other Python threads run while the engine works.
    class WithoutGil
    {
    public:
        WithoutGil() : state_(PyEval_SaveThread()) {}
        WithoutGil(const WithoutGil&) = delete;
        WithoutGil& operator=(const WithoutGil&) = delete;
        ~WithoutGil()
        {
            outliving([this] { PyEval_RestoreThread(state_); });
        }

    private:
        PyThreadState* state_;
    };

    // Takes the GIL for a call from the engine. The call has no objects with destructors while Python code runs.
    template <class Call> auto with_gil(const Call& call)
    {
        return outliving([&] {
            const pybind11::gil_scoped_acquire gil;
            return outliving(call); // inside: the GIL is not given back by a thread that lost it
        });
    }
}
