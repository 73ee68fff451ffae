#include "roofslate/simd/storage.hpp"
#include "roofslate/language/error.hpp"

namespace roofslate
{
    Storage storage_named(std::string_view name)
    {
#define ROOFSLATE_STORAGE(storage, type) \
    if (name == #storage)                \
        return Storage::storage;
        ROOFSLATE_STORAGES(ROOFSLATE_STORAGE)
#undef ROOFSLATE_STORAGE
        throw unknown_name("results are not stored as '" + std::string(name) + "'");
    }
}
