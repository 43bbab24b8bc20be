// Runs on any Node, however old: plain syntax only, no imports.

var found = process.versions.node.split('.');
var major = Number(found[0]);
var minor = Number(found[1]);
if (major < 22 || (major === 22 && minor < 19)) {
  process.stderr.write(
    'nanobot-realtime needs Node 22.19 or newer; this is Node ' +
      process.versions.node +
      ' (' +
      process.execPath +
      ').\n' +
      'In a checkout: run it through npm ("npm ci", then "npm start"), which brings the right Node with it.\n' +
      'Installed: get a current Node (https://nodejs.org, or "npm install node@24" beside it) and run it again.\n',
  );
  process.exit(78);
}
