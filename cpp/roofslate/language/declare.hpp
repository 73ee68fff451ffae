// Makes registry entries of a theme's list. Included by the sources that CMake writes, see cpp/cmake/themes.cmake.
#pragma once
#include "roofslate/language/registry.hpp"

namespace roofslate
{
#if defined(ROOFSLATE_ONLY_TAPES) // pages compute from tapes, and load nothing else
    inline constexpr bool compiles_formulas = false;
#else
    inline constexpr bool compiles_formulas = true;
#endif

    template <class Q, class Needs> struct entry_of;
    template <class Q, class... Needs> struct entry_of<Q, list<Needs...>>
    {
        static_assert(check_unit<Q>());

        template <class T, std::size_t... K> static T apply(const T* a, std::index_sequence<K...>)
        { return Q::template formula<T>(a[K]...); }
        static double formula(const double* a) { return apply(a, std::index_sequence_for<Needs...>{}); }

        static Entry make(std::string_view theme)
        {
            Entry e;
            e.name = name_of<Q>(), e.theme = theme, e.spec = &Q::spec;
            if constexpr (formula_of<Q>::exists)
            {
                e.need_names = {name_of<Needs>()...};
                if constexpr (compiles_formulas)
                    e.formula = &formula;
                Expr arguments[sizeof...(Needs)];
                for (std::size_t k = 0; k < sizeof...(Needs); ++k)
                    arguments[k] = Expr::input(e.tape, int(k));
                e.root = apply(arguments, std::index_sequence_for<Needs...>{}).on(e.tape);
            }
            else if (!Q::spec.target.empty())
            {
                e.need_names = {Q::spec.target};
                if (!Q::spec.changed_to.empty())
                    e.need_names.push_back(Q::spec.changed_to);
                e.formula = [](const double* a) { return a[0]; };
                e.root = Expr::input(e.tape, 0).on(e.tape);
            }
            return e;
        }
    };
    template <class Struct, class = void> struct declares_quantity : std::false_type
    {
    };
    template <class Struct> struct declares_quantity<Struct, std::void_t<decltype(Struct::spec)>> : std::true_type
    {
    };
    template <class Struct, class... Q> constexpr bool is_listed(list<Q...>)
    { return !declares_quantity<Struct>::value || (std::is_same_v<Struct, Q> || ...); }

    template <class... Q> void append_entries(
        std::vector<Entry>& to,
        [[maybe_unused]] std::string_view theme,
        list<Q...>)
    { (to.push_back(entry_of<Q, typename formula_of<Q>::needs>::make(theme)), ...); }
}

#define ROOFSLATE_DECLARE(theme)                                                                         \
    namespace roofslate                                                                                  \
    {                                                                                                    \
        void append_##theme(std::vector<Entry>& to) { append_entries(to, #theme, quantities::theme{}); } \
    }

// Of each struct in the header of a theme.
#define ROOFSLATE_LISTED(theme, name)                                                               \
    static_assert(                                                                                  \
        roofslate::is_listed<roofslate::quantities::name>(roofslate::quantities::theme{}),          \
        "the quantity " #name " is missing from the list at the end of quantities/" #theme ".hpp");
