# cmake -DOUTPUT=file.cpp -DFILES="a.cuh;b.cuh" -P EmbedDevice.cmake: writes deviceFiles().
set(entries "")
foreach(file IN LISTS FILES)
  get_filename_component(name ${file} NAME)
  file(READ ${file} text)
  string(APPEND entries "    {\"${name}\", R\"cuh(${text})cuh\"},\n")
endforeach()
file(WRITE ${OUTPUT} "// Generated from codegen/cuda/device by EmbedDevice.cmake.
#include \"codegen/cuda/DeviceLibrary.h\"

namespace attnc::cuda {

static constexpr DeviceFile kFiles[] = {
${entries}};

std::span<const DeviceFile> deviceFiles() { return kFiles; }

} // namespace attnc::cuda
")
