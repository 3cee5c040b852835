// Prints numbers as Go does.

/** A finite number as Go's strconv.FormatFloat prints it with 'g' and the fewest digits: `1.5`, `1e+06`. */
export function goFloat(value: number): string {
  const [digits = '', exponent = '0'] = value.toExponential().split('e');
  const power = Number(exponent);
  if (power >= -4 && power < 6) return value.toString();
  return `${digits}e${power < 0 ? '-' : '+'}${String(Math.abs(power)).padStart(2, '0')}`;
}
