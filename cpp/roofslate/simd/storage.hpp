// Number types in which results are stored. The engine computes in double and rounds once, while it writes
// (docs/development/add-a-dtype.md).
#pragma once
#include <cstddef>
#include <cstdint>
#include <string_view>

// Names are NumPy's.
#define ROOFSLATE_STORAGES(STORAGE) \
    STORAGE(float64, double)        \
    STORAGE(float32, float)

namespace roofslate
{
    enum class Storage : std::uint8_t
    {
#define ROOFSLATE_STORAGE(name, type) name,
        ROOFSLATE_STORAGES(ROOFSLATE_STORAGE)
#undef ROOFSLATE_STORAGE
    };
    template <class T> struct Stored
    {
        using type = T;
        // The value in that type. Inlined everywhere: a separate copy would belong to one instruction set.
        [[gnu::always_inline]] static T of(double x) { return static_cast<T>(x); }
    };
    // function(Stored<T>{}) with the type of a storage.
    template <class Function> [[gnu::always_inline]] inline auto with_type(Storage storage, const Function& function)
    {
        switch (storage)
        {
#define ROOFSLATE_STORAGE(name, type)                    \
    case Storage::name: return function(Stored<type>{});
            ROOFSLATE_STORAGES(ROOFSLATE_STORAGE)
#undef ROOFSLATE_STORAGE
        }
        __builtin_unreachable();
    }
    [[gnu::always_inline]] inline std::size_t size_of(Storage storage)
    {
        return with_type(storage, [](auto stored) { return sizeof(typename decltype(stored)::type); });
    }
    inline const char* name_of(Storage storage)
    {
        static constexpr const char* names[] = {
#define ROOFSLATE_STORAGE(name, type) #name,
            ROOFSLATE_STORAGES(ROOFSLATE_STORAGE)
#undef ROOFSLATE_STORAGE
        };
        return names[std::size_t(storage)];
    }
    Storage storage_named(std::string_view name); // throws unknown_name
    // Element k of an array.
    inline void* element(void* data, Storage storage, std::ptrdiff_t k)
    {
        return with_type(storage, [=](auto stored) -> void* {
            return static_cast<typename decltype(stored)::type*>(data) + k;
        });
    }
}
