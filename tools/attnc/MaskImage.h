// A block mask as a picture: for the terminal, as PNG, as SVG.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include <attnc/BlockMask.h>

namespace attnc::cli {

enum class Cell : uint8_t { Empty, Partial, Full };

// Row-major; where a mask has more blocks than fit, a cell stands for several: full if all
// are, empty if all are.
struct MaskImage {
  int64_t rows = 0, columns = 0;
  std::vector<Cell> cells;
  Cell at(int64_t row, int64_t column) const { return cells[row * columns + column]; }
};

MaskImage drawMask(const BlockMask &mask, int64_t batch, int64_t head, int64_t maxRows, int64_t maxColumns);

std::string toTerminal(const MaskImage &image, bool hasColor);
std::string toSvg(const MaskImage &image, const std::string &title);
std::string toPng(const MaskImage &image, int pixelsPerCell);

} // namespace attnc::cli
