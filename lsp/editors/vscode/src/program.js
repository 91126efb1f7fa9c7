// Finds a program: by its path, or by its name on the PATH and where pip, pipx and uv put programs.

"use strict";

const fs = require("node:fs");
const os = require("node:os");
const path = require("node:path");

/** The program's path, or undefined. */
function program(wanted) {
  const home = os.homedir();
  const name = wanted.startsWith("~/") ? path.join(home, wanted.slice(2)) : wanted;
  if (name.includes("/") || name.includes(path.sep)) {
    return runs(name) ? name : undefined;
  }
  const folders = (process.env.PATH || "").split(path.delimiter).filter(Boolean);
  folders.push(path.join(home, ".local", "bin"), "/opt/homebrew/bin", "/usr/local/bin");
  const endings = process.platform === "win32" ? [".exe", ".cmd", ""] : [""];
  return folders.flatMap((each) => endings.map((ending) => path.join(each, name + ending))).find(runs);
}

function runs(file) {
  try {
    fs.accessSync(file, fs.constants.X_OK);
    return fs.statSync(file).isFile();
  } catch {
    return false;
  }
}

module.exports = { program };
