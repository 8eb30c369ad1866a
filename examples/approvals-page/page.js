// Shows the calls that wait for a person. What a model wrote enters the page as text nodes only.
const session = 'order-42';
const status = document.getElementById('status');
const questions = document.getElementById('questions');

new EventSource(`sessions/${session}/events`).addEventListener('message', ({ data }) => {
  const seen = JSON.parse(data);
  status.textContent = seen.status;
  questions.replaceChildren(...seen.waiting.map(itemOf));
});

function itemOf(action) {
  const item = document.createElement('li');
  item.append(`${action.tool_name} ${JSON.stringify(action.arguments)} `);
  for (const [label, allow] of [
    ['Allow', true],
    ['Deny', false],
  ]) {
    const button = document.createElement('button');
    button.textContent = label;
    button.addEventListener('click', () => answer(action, allow));
    item.append(button);
  }
  return item;
}

// The answer names the arguments that were shown: it counts for no others.
async function answer({ call_id, batch_id: batch, arguments_digest: digest }, allow) {
  const response = await fetch(`sessions/${session}/calls/${encodeURIComponent(call_id)}`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ batch, digest, allow }),
  });
  if (!response.ok) status.textContent = await response.text();
}
