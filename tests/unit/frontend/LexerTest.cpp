#include "frontend/Lexer.h"

#include <gtest/gtest.h>

#include <bit>

namespace attnc::frontend {
namespace {

struct Lexed {
  Sources sources;
  Diagnostics diagnostics{sources};
  std::vector<Token> tokens;

  explicit Lexed(std::string text) { tokens = lex(sources, sources.add("t.attn", std::move(text)), diagnostics); }
  std::string joined() const {
    std::string out;
    for (const Token &token : tokens)
      out += std::string(token.text) + (token.kind == TokenKind::End ? "" : " ");
    return out;
  }
};

TEST(Lexer, TakesTheLongestOperator) {
  EXPECT_EQ(Lexed("a|>b->c**d//e<<f>>g<=h>=i==j!=k..l").joined(),
            "a |> b -> c ** d // e << f >> g <= h >= i == j != k .. l ");
  EXPECT_EQ(Lexed("a*b/c%d&e|f^g<h>i=j@k?l").joined(), "a * b / c % d & e | f ^ g < h > i = j @ k ? l ");
}

TEST(Lexer, KnowsKeywordsFromNames) {
  Lexed lexed("mask_mod mask_mods fn sorted grad scale in");
  TokenKind kinds[] = {TokenKind::Keyword, TokenKind::Name, TokenKind::Keyword, TokenKind::Name,
                       TokenKind::Name,    TokenKind::Name, TokenKind::Keyword, TokenKind::End};
  ASSERT_EQ(lexed.tokens.size(), std::size(kinds));
  for (size_t i = 0; i < std::size(kinds); ++i)
    EXPECT_EQ(lexed.tokens[i].kind, kinds[i]) << lexed.tokens[i].text;
}

TEST(Lexer, SkipsCommentsAndCountsPlaces) {
  Lexed lexed("# a comment, \xc3\xa9\r\n  x # another\n\ny");
  ASSERT_EQ(lexed.tokens.size(), 3u);
  EXPECT_FALSE(lexed.diagnostics.hasErrors());
  EXPECT_EQ(lexed.tokens[0].span.line, 2u);
  EXPECT_EQ(lexed.tokens[0].span.column, 3u);
  EXPECT_EQ(lexed.tokens[1].span.line, 4u);
}

TEST(Lexer, literal_c1_Integers) {
  Lexed lexed("0 2147483647 0x1F 0xFFFFFFFF");
  EXPECT_EQ(lexed.tokens[1].bits, 2147483647u);
  EXPECT_EQ(lexed.tokens[2].bits, 31u);
  EXPECT_EQ(lexed.tokens[3].bits, 0xFFFFFFFFu);
  EXPECT_FALSE(lexed.diagnostics.hasErrors());
}

TEST(Lexer, literal_c2_Floats) {
  Lexed lexed("1.5 .25 2. 1e3 1E-2 3.4028235e38 1e-60 16777217.0 1.0e+2");
  float expected[] = {1.5f, 0.25f, 2.f, 1000.f, 0.01f, 3.4028235e38f, 0.f, 16777216.f, 100.f};
  for (size_t i = 0; i < std::size(expected); ++i)
    EXPECT_EQ(std::bit_cast<float>(lexed.tokens[i].bits), expected[i]) << lexed.tokens[i].text;
  EXPECT_FALSE(lexed.diagnostics.hasErrors());
}

TEST(Lexer, ARangeIsNotAFloat) { EXPECT_EQ(Lexed("0..8 0 .. 8").joined(), "0 .. 8 0 .. 8 "); }

} // namespace
} // namespace attnc::frontend
