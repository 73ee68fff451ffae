// Prints the built-in quantities, one a line, each with the words of its choices: the stubs are made from this list.
#include "roofslate/language/registry.hpp"
#include <iostream>

int main()
{
    const roofslate::Registry& registry = roofslate::registry();
    for (int i = 0; i < registry.size(); ++i)
    {
        std::cout << registry[i].name;
        for (const char* const word : registry[i].spec->choices)
            if (word)
                std::cout << '\t' << word;
        std::cout << '\n';
    }
    return std::cout.flush() ? 0 : 1;
}
