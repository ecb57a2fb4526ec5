# cmake -DOUTPUT=file.cpp -DFILES="a.attn;b.attn" -P EmbedStd.cmake: writes stdFiles().
set(entries "")
list(SORT FILES)
foreach(file IN LISTS FILES)
  get_filename_component(name ${file} NAME_WE)
  file(READ ${file} text)
  string(APPEND entries "    {\"${name}\", R\"attn(${text})attn\"},\n")
endforeach()
file(WRITE ${OUTPUT} "// Generated from frontend/std by EmbedStd.cmake.
#include \"frontend/StdLibrary.h\"

namespace attnc::frontend {

static constexpr StdFile kFiles[] = {
${entries}};

std::span<const StdFile> stdFiles() { return kFiles; }

} // namespace attnc::frontend
")
