#pragma once
#include <string>

namespace tally {

class Bridge {
 public:
  explicit Bridge(std::string path);
  int open(int flags);
  void close();

 private:
  std::string path_;
  int handle_ = -1;
};

}  // namespace tally
