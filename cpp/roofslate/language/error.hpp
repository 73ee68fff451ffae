// Mistakes of the caller, found before any work is done. Each kind is one Python exception class of the same name.
#pragma once
#include <stdexcept>
#include <string>

namespace roofslate
{
    class Error : public std::runtime_error
    {
    public:
        Error(const char* kind, const std::string& message) : std::runtime_error(message), kind_(kind) {}
        const char* kind() const noexcept { return kind_; }

    private:
        const char* kind_;
    };
    inline Error missing_input(const std::string& message) { return Error("MissingInput", message); }
    inline Error unknown_name(const std::string& message) { return Error("UnknownName", message); }
    inline Error unit_error(const std::string& message) { return Error("UnitError", message); }
    inline Error axis_error(const std::string& message) { return Error("AxisError", message); }

    // The caller asked to stop (Ctrl-C); whatever it threw is raised by the binding.
    struct Interrupted
    {
    };
}
