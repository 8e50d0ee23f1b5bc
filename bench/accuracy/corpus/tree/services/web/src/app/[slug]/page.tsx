import { money } from "../../lib/format";

export default function Page({ club }) {
  return (
    <main>
      <h1>{club.name}</h1>
      <p>{money(club.balance)}</p>
    </main>
  );
}
