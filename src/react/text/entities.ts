/**
 * Decodes character references in Markdown, such as `&amp;` and `&#x41;`. Supports numbers and common names; unknown
 * names stay unchanged.
 */
const NAMES =
  "amp & lt < gt > quot \" apos ' nbsp \u00a0 copy © reg ® trade ™ hellip … mdash — ndash – lsquo ‘ rsquo ’ ldquo “ rdquo ” " +
  "laquo « raquo » bull • middot · times × divide ÷ plusmn ± minus − deg ° micro µ para ¶ sect § euro € pound £ yen ¥ cent ¢ " +
  "frac12 ½ frac14 ¼ frac34 ¾ sup1 ¹ sup2 ² sup3 ³ larr ← uarr ↑ rarr → darr ↓ harr ↔ lArr ⇐ rArr ⇒ hArr ⇔ forall ∀ " +
  "part ∂ exist ∃ empty ∅ nabla ∇ isin ∈ notin ∉ ni ∋ prod ∏ sum ∑ radic √ prop ∝ infin ∞ ang ∠ and ∧ or ∨ cap ∩ cup ∪ int ∫ " +
  "there4 ∴ sim ∼ cong ≅ asymp ≈ ne ≠ equiv ≡ le ≤ ge ≥ sub ⊂ sup ⊃ sube ⊆ supe ⊇ oplus ⊕ otimes ⊗ perp ⊥ " +
  "Alpha Α Beta Β Gamma Γ Delta Δ Theta Θ Lambda Λ Xi Ξ Pi Π Sigma Σ Phi Φ Psi Ψ Omega Ω alpha α beta β gamma γ delta δ " +
  "epsilon ε zeta ζ eta η theta θ iota ι kappa κ lambda λ mu μ nu ν xi ξ pi π rho ρ sigma σ tau τ upsilon υ phi φ chi χ " +
  "psi ψ omega ω agrave à aacute á acirc â atilde ã auml ä aring å aelig æ ccedil ç egrave è eacute é ecirc ê euml ë " +
  "igrave ì iacute í icirc î iuml ï ntilde ñ ograve ò oacute ó ocirc ô otilde õ ouml ö oslash ø ugrave ù uacute ú ucirc û " +
  "uuml ü szlig ß Auml Ä Ouml Ö Uuml Ü Eacute É check ✓ star ☆ hearts ♥ dagger † Dagger ‡ prime ′ Prime ″ permil ‰ " +
  "lbrack [ rbrack ] lpar ( rpar ) ast * lowbar _ grave ` colon : semi ; excl ! num # dollar $ percnt % sol / bsol \\ Tab \t NewLine \n";

const characters = new Map<string, string>();
{
  // Split at single spaces: a tab and a no-break space are values.
  const words = NAMES.split(" ");
  for (let i = 0; i + 1 < words.length; i += 2) characters.set(words[i] ?? "", words[i + 1] ?? "");
}

const reference = /&(?:#(\d{1,7})|#[xX]([\da-fA-F]{1,6})|([A-Za-z]\w{1,31}));/g;

export function decodeEntities(text: string): string {
  if (!text.includes("&")) return text;
  return text.replace(reference, (whole, decimal?: string, hexadecimal?: string, name?: string) => {
    if (name !== undefined) return characters.get(name) ?? whole;
    return decodeNumber(decimal === undefined ? Number.parseInt(hexadecimal ?? "", 16) : Number.parseInt(decimal, 10));
  });
}

function decodeNumber(code: number): string {
  const isCharacter = code > 0 && code <= 0x10ffff && (code < 0xd800 || code > 0xdfff);
  return isCharacter ? String.fromCodePoint(code) : "\ufffd";
}
