// Copyright 2026 The Workqueue Authors.
// SPDX-License-Identifier: Apache-2.0

#include "examples/kubernetes/kubeconfig.h"

#include <filesystem>  // NOLINT(build/c++17)
#include <string>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "examples/kubernetes/config.h"
#include "examples/kubernetes/file_contents.h"
#include "yaml-cpp/yaml.h"

namespace kubernetes {
namespace {

// Reads the fields of one mapping of the file. Keeps the first error.
class Fields {
 public:
  // `where` tells where `node` is in the file. `status` receives an error.
  Fields(const YAML::Node& node, std::string where, absl::Status* status)
      : node_(node.IsDefined() ? node : YAML::Node()),
        where_(std::move(where)),
        status_(*status) {
    if (!node_.IsNull() && !node_.IsMap()) {
      Fail(where_.empty() ? "the file" : "", "is no mapping");
    }
  }

  // Returns the text of a field, which is empty if there is none.
  std::string Text(const char* key) {
    const YAML::Node value = Value(key);
    if (!value.IsDefined() || value.IsNull()) return "";
    if (value.IsScalar()) return value.Scalar();
    Fail(key, "is no text");
    return "";
  }

  // Returns the text of a field that must not be empty.
  std::string RequiredText(const char* key) {
    std::string text = Text(key);
    if (text.empty()) Fail(key, "is missing");
    return text;
  }

  bool Boolean(const char* key) {
    const std::string text = Text(key);
    bool value = false;
    if (!text.empty() && !YAML::convert<bool>::decode(Value(key), value)) {
      Fail(key, absl::StrCat("is '", text, "', not true or false"));
    }
    return value;
  }

  // Returns the contents of what `key` names: they are in the field `key`-data
  // in base64, or in the file `key` of `folder`.
  std::string Contents(const std::string& key,
                       const std::filesystem::path& folder) {
    const std::string data_key = absl::StrCat(key, "-data");
    const std::string data = Text(data_key.c_str());
    std::string contents;
    if (!data.empty()) {
      if (!absl::Base64Unescape(data, &contents)) {
        Fail(data_key.c_str(), "is not in base64");
      }
      return contents;
    }
    const std::string file = Path(key.c_str(), folder);
    if (file.empty()) return "";
    absl::StatusOr<std::string> read = ReadFile(file);
    if (read.ok()) return *std::move(read);
    Fail(key.c_str(), read.status().message());
    return "";
  }

  // Returns the path of the file that `key` names, or nothing.
  std::string Path(const char* key, const std::filesystem::path& folder) {
    const std::string file = Text(key);
    return file.empty() ? "" : (folder / file).string();
  }

  // Fails if there is a field of this name.
  void Refuse(const char* key) {
    const YAML::Node value = Value(key);
    if (value.IsDefined() && !value.IsNull()) {
      Fail(key, "is not supported by this client");
    }
  }

  // Returns the mapping `key` of the element of the list `list` that has the
  // name `name`. `user` says which field has this name.
  Fields Named(const char* list, const char* key, const std::string& name,
               absl::string_view user) {
    const YAML::Node elements = Value(list);
    if (elements.IsDefined() && elements.IsSequence()) {
      for (const YAML::Node& element : elements) {
        if (element.IsMap() && element["name"].IsDefined() &&
            element["name"].IsScalar() && element["name"].Scalar() == name) {
          return Fields(element[key], absl::StrCat(list, "[", name, "].", key),
                        &status_);
        }
      }
    }
    Fail(list, absl::StrCat("has no '", name, "', which ", user, " names"));
    return Fields(YAML::Node(), "", &status_);
  }

 private:
  YAML::Node Value(const char* key) const {
    return node_.IsMap() ? node_[key] : YAML::Node();
  }

  void Fail(absl::string_view key, absl::string_view reason) {
    const bool both = !where_.empty() && !key.empty();
    status_.Update(absl::InvalidArgumentError(
        absl::StrCat(where_, both ? "." : "", key, " ", reason)));
  }

  const YAML::Node node_;
  const std::string where_;
  absl::Status& status_;
};

absl::StatusOr<Config> Parse(const YAML::Node& file,
                             const std::filesystem::path& folder) {
  absl::Status status;
  Fields root(file, "", &status);
  const std::string context_name = root.RequiredText("current-context");
  Fields context =
      root.Named("contexts", "context", context_name, "current-context");
  Fields cluster = root.Named("clusters", "cluster",
                              context.RequiredText("cluster"), "the context");
  // A server may need no credentials.
  const std::string user_name = context.Text("user");

  Config config;
  const std::string ns = context.Text("namespace");
  if (!ns.empty()) config.ns = ns;
  config.server = cluster.RequiredText("server");
  config.ca = cluster.Contents("certificate-authority", folder);
  config.insecure_skip_tls_verify = cluster.Boolean("insecure-skip-tls-verify");
  for (const char* key : {"proxy-url", "tls-server-name"}) cluster.Refuse(key);
  if (!user_name.empty()) {
    Fields user = root.Named("users", "user", user_name, "the context");
    for (const char* key : {"exec", "auth-provider", "username", "password",
                            "as", "as-uid", "as-groups", "as-user-extra"}) {
      user.Refuse(key);
    }
    config.client_cert = user.Contents("client-certificate", folder);
    config.client_key = user.Contents("client-key", folder);
    config.token = user.Text("token");
    config.token_file = user.Path("tokenFile", folder);
  }
  if (status.ok()) status = CheckConfig(config);
  if (!status.ok()) return status;
  return config;
}

}  // namespace

absl::StatusOr<Config> LoadKubeconfig(const std::string& path) {
  const absl::StatusOr<std::string> text = ReadFile(path);
  if (!text.ok()) return text.status();
  absl::StatusOr<Config> config;
  try {
    config =
        Parse(YAML::Load(*text), std::filesystem::absolute(path).parent_path());
  } catch (const YAML::Exception& error) {
    config = absl::InvalidArgumentError(error.what());
  }
  if (config.ok()) return config;
  return absl::Status(config.status().code(),
                      absl::StrCat(path, ": ", config.status().message()));
}

}  // namespace kubernetes
