#include "runtime/CacheArchive.h"

#include <charconv>
#include <set>

#include <fmt/format.h>

#include "runtime/FileBytes.h"
#include "runtime/Sha256.h"

namespace attnc {

static constexpr std::string_view kFirstLine = "attnc cache export 1";
static constexpr uint64_t kMaxLine = 128;

Result<int64_t> exportCache(const KernelCache &cache, const std::string &path) {
  Result<FileWriter> file = FileWriter::create(path);
  if (!file)
    return file.error();
  Sha256 hash;
  Status status;
  auto write = [&](std::string_view bytes) {
    hash.update(bytes);
    if (status)
      status = file->write(bytes);
  };
  write(fmt::format("{}\n", kFirstLine));
  std::set<std::string> seen;
  for (const auto &layer : cache.layers())
    for (const Sidecar &listed : layer->list()) {
      std::optional<CacheEntry> entry;
      if (seen.contains(listed.key.hex()) || !(entry = layer->find(listed.key)))
        continue; // a bad one is logged
      seen.insert(listed.key.hex());
      const std::string sidecar = sidecarText(listed.key, *entry);
      write(fmt::format("entry {} {}\n", sidecar.size(), entry->binary.size()));
      write(sidecar);
      write(entry->binary);
      if (!status)
        return status.error();
    }
  if (status)
    status = file->write(fmt::format("end {} {}\n", seen.size(), hash.hex()));
  if (status)
    status = file->commit(0600);
  if (!status)
    return status.error();
  return static_cast<int64_t>(seen.size());
}

namespace {

// The numbers of "word A B"; nothing else may stand in the line.
bool readNumbers(std::string_view line, std::string_view word, uint64_t &first, std::string_view &rest) {
  if (!line.starts_with(word))
    return false;
  line.remove_prefix(word.size());
  auto [end, error] = std::from_chars(line.data(), line.data() + line.size(), first);
  if (error != std::errc() || end == line.data() + line.size() || *end != ' ')
    return false;
  rest = line.substr(static_cast<size_t>(end + 1 - line.data()));
  return true;
}

class Importer {
public:
  Importer(KernelCache &cache, const std::string &path) : cache(cache), path(path) {}

  Result<Context::CacheImport> run() {
    if (!cache.userLayer())
      return Error{ErrorCode::InvalidArgument, "the cache is in memory only: expected a directory to import into"};
    Result<FileReader> file = FileReader::open(path);
    if (!file)
      return file.error();
    Result<std::string> line = readLine(*file);
    if (!line || *line != kFirstLine)
      return bad(fmt::format("expected a file that begins with '{}'", kFirstLine));
    for (;;) {
      line = readLine(*file);
      if (!line)
        return bad("it is truncated");
      uint64_t number = 0;
      std::string_view rest;
      if (readNumbers(*line, "end ", number, rest))
        return number == entries && rest == beforeLine && file->left() == 0
                   ? Result<Context::CacheImport>(report)
                   : bad("its last line does not fit what stands before it");
      if (!readNumbers(*line, "entry ", number, rest))
        return bad("expected 'entry SIDECAR_BYTES BINARY_BYTES' or 'end ENTRIES SHA256'");
      if (Status read = readEntry(*file, number, rest); !read)
        return read.error();
    }
  }

private:
  // Sizes are held against what a cache may hold and what the file has before memory is taken.
  Status readEntry(FileReader &file, uint64_t sidecarBytes, std::string_view binaryText) {
    uint64_t binaryBytes = 0;
    const char *end = binaryText.data() + binaryText.size();
    auto [stopped, error] = std::from_chars(binaryText.data(), end, binaryBytes);
    if (error != std::errc() || stopped != end)
      return bad("expected 'entry SIDECAR_BYTES BINARY_BYTES'");
    if (sidecarBytes > kMaxSidecarBytes || binaryBytes > kMaxBinaryBytes)
      return bad(fmt::format("an entry of {} + {} bytes, expected at most {} + {}", sidecarBytes, binaryBytes,
                             kMaxSidecarBytes, kMaxBinaryBytes));
    if (sidecarBytes + binaryBytes > file.left())
      return bad("it is truncated");
    Result<std::string> sidecar = file.read(sidecarBytes), binary = file.read(binaryBytes);
    if (!sidecar || !binary)
      return sidecar ? binary.error() : sidecar.error();
    hash.update(*sidecar);
    hash.update(*binary);
    ++entries;
    return publish(*sidecar, *std::move(binary));
  }

  Status publish(const std::string &text, std::string binary) {
    Result<Sidecar> sidecar = readSidecar(text);
    const std::string problem = sidecar ? binaryMismatch(*sidecar, binary) : "the sidecar: " + sidecar.error().message;
    if (!problem.empty()) {
      report.refused.push_back(fmt::format("entry {}: {}", entries, problem));
      return {};
    }
    if (cache.userLayer()->find(sidecar->key)) {
      ++report.present;
      return {};
    }
    sidecar->entry.binary = std::move(binary);
    if (Status written = cache.userLayer()->write(sidecar->key, sidecar->entry); !written)
      return written;
    ++report.imported;
    return {};
  }

  Result<std::string> readLine(FileReader &file) {
    Result<std::string> line = file.readLine(kMaxLine);
    if (line) {
      beforeLine = Sha256(hash).hex();
      hash.update(*line);
      hash.update("\n");
    }
    return line;
  }

  Error bad(const std::string &what) const {
    return {ErrorCode::Io,
            fmt::format("cannot import '{}': {}; {} entries before that were imported", path, what, report.imported)};
  }

  KernelCache &cache;
  const std::string &path;
  Sha256 hash;
  std::string beforeLine; // the hash of all that stands before the line read last
  uint64_t entries = 0;
  Context::CacheImport report;
};

} // namespace

Result<Context::CacheImport> importCache(KernelCache &cache, const std::string &path) {
  return Importer(cache, path).run();
}

} // namespace attnc
