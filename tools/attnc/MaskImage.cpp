#include "tools/attnc/MaskImage.h"

#include <algorithm>
#include <array>

#include <fmt/format.h>

namespace attnc::cli {

// The first block of a cell, where `cells` share `blocks`; the next cell's ends this one.
static int64_t firstBlock(int64_t cell, int64_t cells, int64_t blocks) { return (cell * blocks + cells - 1) / cells; }

// Runs are cut at cells, never walked tile by tile: a mask may have billions of tiles.
MaskImage drawMask(const BlockMask &mask, int64_t batch, int64_t head, int64_t maxRows, int64_t maxColumns) {
  const int64_t blockRows = mask.queryBlocks(), blockColumns = mask.kvBlocks();
  MaskImage image;
  image.rows = std::min(blockRows, maxRows);
  image.columns = std::min(blockColumns, maxColumns);
  const int64_t cellCount = image.rows * image.columns;
  std::vector<int64_t> visited(cellCount), full(cellCount);
  std::vector<int64_t> bounds;
  for (int64_t column = 0; column <= image.columns; ++column)
    bounds.push_back(firstBlock(column, image.columns, blockColumns));

  for (int64_t row = 0; row < blockRows; ++row) {
    const int64_t cellRow = row * image.rows / blockRows * image.columns;
    const BlockMask::Runs runs = mask.runs(batch, head, row);
    for (const BlockRun *run = runs.begin; run != runs.end; ++run) {
      const int64_t end = int64_t(run->first) + run->count;
      for (int64_t column = run->first * image.columns / blockColumns; column < image.columns && bounds[column] < end;
           ++column) {
        const int64_t covered = std::min(end, bounds[column + 1]) - std::max<int64_t>(run->first, bounds[column]);
        visited[cellRow + column] += covered;
        full[cellRow + column] += run->isFull ? covered : 0;
      }
    }
  }

  for (int64_t row = 0; row < image.rows; ++row) {
    const int64_t height = firstBlock(row + 1, image.rows, blockRows) - firstBlock(row, image.rows, blockRows);
    for (int64_t column = 0; column < image.columns; ++column) {
      const int64_t cell = row * image.columns + column;
      const int64_t total = height * (bounds[column + 1] - bounds[column]);
      image.cells.push_back(visited[cell] == 0 ? Cell::Empty : full[cell] == total ? Cell::Full : Cell::Partial);
    }
  }
  return image;
}

// Two cells a character, one above the other.
std::string toTerminal(const MaskImage &image, bool hasColor) {
  static constexpr const char *plain[3][3] = {{" ", "▄", "▄"}, {"▀", "▒", "▒"}, {"▀", "▒", "█"}};
  static constexpr int color[] = {236, 179, 71};
  std::string text;
  for (int64_t row = 0; row < image.rows; row += 2) {
    for (int64_t column = 0; column < image.columns; ++column) {
      const Cell top = image.at(row, column);
      const Cell bottom = row + 1 < image.rows ? image.at(row + 1, column) : Cell::Empty;
      if (hasColor)
        text +=
            fmt::format("\033[38;5;{}m\033[48;5;{}m▀", color[int(top)], row + 1 < image.rows ? color[int(bottom)] : 0);
      else
        text += plain[int(top)][int(bottom)];
    }
    text += hasColor ? "\033[0m\n" : "\n";
  }
  return text;
}

static constexpr std::array<std::array<uint8_t, 3>, 3> kColors = {{{245, 245, 245}, {240, 178, 84}, {62, 125, 168}}};

std::string toSvg(const MaskImage &image, const std::string &title) {
  constexpr int cell = 8;
  std::string text = fmt::format("<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{}\" height=\"{}\">\n"
                                 "<title>{}</title>\n<rect width=\"100%\" height=\"100%\" fill=\"#f5f5f5\"/>\n",
                                 image.columns * cell, image.rows * cell, title);
  for (int64_t row = 0; row < image.rows; ++row)
    for (int64_t column = 0; column < image.columns; ++column) {
      const Cell kind = image.at(row, column);
      if (kind == Cell::Empty)
        continue;
      // One rectangle for a run of equal cells.
      int64_t end = column + 1;
      while (end < image.columns && image.at(row, end) == kind)
        ++end;
      const auto &rgb = kColors[int(kind)];
      text += fmt::format("<rect x=\"{}\" y=\"{}\" width=\"{}\" height=\"{}\" fill=\"#{:02x}{:02x}{:02x}\"/>\n",
                          column * cell, row * cell, (end - column) * cell, cell, rgb[0], rgb[1], rgb[2]);
      column = end - 1;
    }
  return text + "</svg>\n";
}

//===----------------------------------------------------------------------===//
// PNG: stored deflate blocks, so that no library is needed for a small picture.
//===----------------------------------------------------------------------===//

static void putBig(std::string &out, uint32_t value) {
  for (int shift = 24; shift >= 0; shift -= 8)
    out += static_cast<char>(value >> shift);
}

static uint32_t crcOf(const std::string &bytes) {
  uint32_t crc = ~0u;
  for (unsigned char byte : bytes) {
    crc ^= byte;
    for (int bit = 0; bit < 8; ++bit)
      crc = crc >> 1 ^ (crc & 1 ? 0xEDB88320u : 0);
  }
  return ~crc;
}

static void putChunk(std::string &out, const std::string &type, const std::string &data) {
  putBig(out, static_cast<uint32_t>(data.size()));
  out += type + data;
  putBig(out, crcOf(type + data));
}

static std::string storedDeflate(const std::string &bytes) {
  std::string out = "\x78\x01";
  size_t at = 0;
  do {
    const size_t size = std::min<size_t>(bytes.size() - at, 65535);
    out += at + size == bytes.size() ? '\1' : '\0';
    out += static_cast<char>(size & 255);
    out += static_cast<char>(size >> 8);
    out += static_cast<char>(~size & 255);
    out += static_cast<char>(~size >> 8 & 255);
    out.append(bytes, at, size);
    at += size;
  } while (at < bytes.size());
  uint32_t a = 1, b = 0;
  for (unsigned char byte : bytes) {
    a = (a + byte) % 65521;
    b = (b + a) % 65521;
  }
  putBig(out, b << 16 | a);
  return out;
}

std::string toPng(const MaskImage &image, int pixels) {
  std::string header;
  putBig(header, static_cast<uint32_t>(image.columns * pixels));
  putBig(header, static_cast<uint32_t>(image.rows * pixels));
  header += std::string("\x08\x03\0\0\0", 5); // 8 bits, palette
  std::string palette;
  for (const auto &rgb : kColors)
    for (uint8_t channel : rgb)
      palette += static_cast<char>(channel);
  std::string rows;
  for (int64_t y = 0; y < image.rows * pixels; ++y) {
    rows += '\0'; // no filter
    for (int64_t column = 0; column < image.columns; ++column)
      rows.append(static_cast<size_t>(pixels), static_cast<char>(image.at(y / pixels, column)));
  }
  std::string out = "\x89PNG\r\n\x1a\n";
  putChunk(out, "IHDR", header);
  putChunk(out, "PLTE", palette);
  putChunk(out, "IDAT", storedDeflate(rows));
  putChunk(out, "IEND", "");
  return out;
}

} // namespace attnc::cli
