#include "Bridge.h"

#include <fcntl.h>
#include <unistd.h>

namespace tally {

Bridge::Bridge(std::string path) : path_(std::move(path)) {}

int Bridge::open(int flags) {
  if (handle_ >= 0) {
    return handle_;
  }
  handle_ = ::open(path_.c_str(), flags | O_CLOEXEC);
  return handle_;
}

void Bridge::close() {
  if (handle_ != -1) {
    ::close(handle_);
    handle_ = -1;
  }
}

}  // namespace tally
