#include "tests/tidy/source_tree.hpp"

#include <gtest/gtest.h>

namespace swarm::tidy {
namespace {

std::vector<std::string> names_in(const std::string& text) {
    std::vector<std::string> names;
    for (const Function& function : functions_of(make_source("a.cpp", text))) {
        names.push_back(function.name);
    }
    return names;
}

TEST(CodeOf, BlanksCommentsAndKeepsColumns) {
    EXPECT_EQ(code_of("a /* { */ b // }\nc"), "a         b     \nc");
    EXPECT_EQ(code_of("/* a\nb */ c"), "    \n     c");
}

TEST(CodeOf, BlanksTheInsidesOfLiterals) {
    EXPECT_EQ(code_of(R"(f("a\"{", '}', 1'000) {)"), R"(f("    ", ' ', 1'000) {)");
    EXPECT_EQ(code_of("x = R\"d({)\")d\"; y"), "x =           ; y");
}

TEST(FunctionsOf, MeasuresFromTheReturnTypeToTheClosingBrace) {
    const auto functions =
        functions_of(make_source("a.cpp", "\nint\nf() {\n    if (a) {\n    }\n}\n"));
    ASSERT_EQ(functions.size(), 1U);
    EXPECT_EQ(functions[0].first_line, 2U);
    EXPECT_EQ(functions[0].last_line, 6U);
    EXPECT_EQ(functions[0].lines(), 5U);
}

TEST(FunctionsOf, LooksIntoNamespacesAndClasses) {
    EXPECT_EQ(
        names_in("namespace a::b {\nnamespace {\ntemplate <class T>\nstruct S final : Base<T> {\n"
                 " public:\n    int f() const { return 1; }\n};\n}\nvoid g(int x) {\n}\n}\n"),
        (std::vector<std::string>{"public:\n    int f", "void g"})
    );
}

TEST(FunctionsOf, IgnoresTablesEnumerationsAndDirectives) {
    EXPECT_TRUE(names_in("constexpr int kTable[] = {\n1,\n2};\nenum class E { A, B };\n").empty());
    EXPECT_TRUE(names_in("#define OPEN(x) \\\n    {\nint x;\n").empty());
}

TEST(FunctionsOf, SeesAFunctionBehindABracedInitialiser) {
    EXPECT_EQ(names_in("struct S {\n    int a{};\n    void f() {}\n};\n").back(), "void f");
}

TEST(IncludesOf, TellsQuotedFromAngled) {
    const auto includes = includes_of(make_source("a.cpp", "#include \"b/c.hpp\"\n#include <d>\n"));
    ASSERT_EQ(includes.size(), 2U);
    EXPECT_EQ(includes[0].path, "b/c.hpp");
    EXPECT_TRUE(includes[0].quoted);
    EXPECT_EQ(includes[1].line, 2U);
    EXPECT_FALSE(includes[1].quoted);
}

TEST(SourceFiles, FindsThisTree) {
    EXPECT_GT(source_files().size(), 20U);
    EXPECT_GT(build_files().size(), 10U);
}

}  // namespace
}  // namespace swarm::tidy
